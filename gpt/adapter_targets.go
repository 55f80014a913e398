package gpt

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/peft"
	"github.com/pkg/errors"
)

// matrix is what a matrix in a block is called here, as in lora_targets, and in the model's family, as in
// target_modules.
type matrix struct {
	ours   string
	theirs []string // in the first block
}

// matrices returns those that may have adapters.
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

// targets returns the lora_targets that an adapter's target_modules stand for.
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
			err = errors.Errorf("adapter: target_modules: got %s, want endings of %s", field.Clip(target), strings.Join(known, ", "))
		}
	}
	return list, err
}

// modules returns the target_modules that c's lora_targets stand for: the same endings, or what the family calls the
// matrices.
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
