package peft

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pkg/errors"
)

// LoRATargets returns our matrices of a block that have one of target_modules.
func (c Config) LoRATargets(matrices []string, layout published.Layout) (list []string, err error) {
	var known []string
	for _, ours := range matrices {
		theirs := modules(ours, layout)
		if slices.ContainsFunc(theirs, c.Adapts) {
			list = append(list, ours)
		}
		known = append(known, theirs...)
	}
	for _, target := range c.Targets {
		if !slices.ContainsFunc(known, Config{Targets: []string{target}}.Adapts) {
			return list, errors.Errorf("adapter: target_modules: got %s, want endings of %s",
				field.Clip(target), strings.Join(known, ", "))
		}
	}
	return list, nil
}

// TargetModules returns the target_modules that correspond to targets, which are endings of our matrices of a block:
// the same endings, or the family's names of the matrices.
func TargetModules(targets, matrices []string, layout published.Layout) (list []string) {
	for _, target := range targets {
		for _, ours := range matrices {
			if !(Config{Targets: []string{target}}).Adapts(ours) {
				continue
			}
			for _, module := range modules(ours, layout) {
				ending := module[strings.LastIndexByte(module, '.')+1:]
				if strings.HasSuffix(module, "."+target) {
					ending = target
				}
				if !slices.Contains(list, ending) {
					list = append(list, ending)
				}
			}
		}
	}
	return list
}

// modules returns the family's names of one of our matrices, of the first block or of the head.
func modules(matrix string, layout published.Layout) (names []string) {
	if matrix+".weight" != published.HeadWeight {
		matrix = "h.0." + matrix
	}
	for _, m := range layout.Modules(matrix) {
		names = append(names, m.Name)
	}
	return names
}
