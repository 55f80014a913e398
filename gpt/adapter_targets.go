package gpt

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/peft"
	"github.com/pkg/errors"
)

// matrix holds the names of a matrix in a block: ours, as in lora_targets, and those of the model's family, as in
// target_modules.
type matrix struct {
	ours   string
	theirs []string // in the first block
}

// matrices returns the matrices that may have adapters.
func (c Config) matrices() (list []matrix, err error) {
	o, err := c.outline()
	names, heads := c.layout(), c.heads()
	for _, linear := range o.linears {
		m := matrix{ours: linear}
		for _, p := range names.Pieces("h.0."+linear+".weight", heads) {
			m.theirs = append(m.theirs, names.Module(p.Name))
		}
		list = append(list, m)
	}
	return list, errors.WithMessage(err, "adapter")
}

// targets returns the lora_targets that correspond to an adapter's target_modules.
func (c Config) targets(a *Adapter) (list []string, err error) {
	all, err := c.matrices()
	var known []string
	for _, m := range all {
		if slices.ContainsFunc(m.theirs, a.config.Adapts) {
			list = append(list, m.ours)
		}
		known = append(known, m.theirs...)
	}
	for _, target := range a.config.Targets {
		if err == nil && !slices.ContainsFunc(known, peft.Config{Targets: []string{target}}.Adapts) {
			err = errors.Errorf("adapter: target_modules: got %s, want endings of %s",
				field.Clip(target), strings.Join(known, ", "))
		}
	}
	return list, err
}

// modules returns the target_modules that correspond to c's lora_targets: the same endings, or the family's names of
// the matrices.
func (c Config) modules() (list []string, err error) {
	all, err := c.matrices()
	for _, target := range c.LoraTargets {
		for _, m := range all {
			if !(Adapters{LoraR: 1, LoraTargets: []string{target}}).adapts(m.ours) {
				continue
			}
			for _, module := range m.theirs {
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
	return list, err
}
