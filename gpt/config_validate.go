package gpt

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// Validate returns the first error in c, which names the field, its value and the values that are allowed. It allocates
// next to nothing regardless of the sizes, so call it before anything else reads c.
func (c Config) Validate() error {
	p, o, err := c.validated()
	if err != nil {
		return err
	}
	if err := c.trainingFields().Check(); err != nil {
		return err
	}
	if err := c.Check(); err != nil {
		return err
	}
	if c.NLayer <= mostDeclared { // otherwise not all names are known before the network is built
		if err := c.Frozen.Check(o.names); err != nil {
			return err
		}
	}
	return p.checkMemory(o)
}

// ValidateModel is [Config.Validate] without the training half: it checks what building a network requires, for example
// of one that [FromHuggingFace] has read.
func (c Config) ValidateModel() error {
	_, _, err := c.validated()
	return err
}

// validated returns the plan of the network and what it declares, or an error if it cannot be built.
func (c Config) validated() (p plan, o outline, err error) {
	if c.VocabSize == 0 {
		return p, o, errors.New(
			"vocab_size: got 0, which means from the text: set it to the tokenizer's vocabulary first")
	}
	if err := c.networkFields().Check(); err != nil {
		return p, o, err
	}
	p = c.planned()
	if err := p.design.Check(c.BlockSize); err != nil {
		return p, o, err
	}
	if p.head.New == nil {
		return p, o, errors.Errorf("head: got %s, a part without New: nothing builds it", p.Head)
	}
	p = p.targeted()
	if o, err = p.outline(); err != nil {
		return p, o, err
	}
	if err := c.Adapters.check(o); err != nil {
		return p, o, err
	}
	return p, o, c.checkParameters(4 * (o.base + o.adapters + o.values))
}

func (a Adapters) check(o outline) error {
	if a.LoraR == 0 {
		switch {
		case a.LoraAlpha != 0:
			return errors.Errorf("lora_alpha: got %v, want 0 while lora_r is 0", a.LoraAlpha)
		case len(a.LoraTargets) > 0:
			return errors.Errorf("lora_targets: got %s, want none while lora_r is 0",
				field.Clip(strings.Join(a.LoraTargets, ",")))
		}
		return nil
	}
	for i, target := range a.LoraTargets {
		one := Adapters{LoraR: 1, LoraTargets: []string{target}}
		switch {
		case slices.Contains(a.LoraTargets[:i], target):
			return errors.Errorf("lora_targets: got %s twice", field.Clip(target))
		case slices.ContainsFunc(o.linears, one.adapts):
		case one.adapts("lm_head"):
			return errors.New("lora_targets: got lm_head, which in a tied head has no weight of its own to adapt")
		default:
			return errors.Errorf("lora_targets: got %q, want endings of %s",
				field.Clip(target), strings.Join(o.adaptable(), ", "))
		}
	}
	return nil
}

// adaptable returns the names that a target may end. It includes a tied head, which is refused with another reason.
func (o outline) adaptable() []string {
	if slices.Contains(o.linears, "lm_head") {
		return o.linears
	}
	return append(slices.Clone(o.linears), "lm_head")
}

// ResumeDiff returns an error that names every field in which c differs from the saved configuration of the run to
// resume, except those of [train.Run], which do not change what a step computes. A zero equals the default that it
// stands for.
func (c Config) ResumeDiff(saved Config) error {
	c, saved = c.Resolved(), saved.Resolved()
	return c.fields().Fixed().Diff("resume", saved.fields())
}
