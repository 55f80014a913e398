package gpt

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// Validate returns the first thing wrong with c, naming the field, what it got
// and what it wants. It allocates next to nothing whatever the sizes, so it
// belongs before everything else that reads a Config.
func (c Config) Validate() error {
	if err := c.ValidateModel(); err != nil {
		return err
	}
	if err := c.trainingFields().Check(); err != nil {
		return err
	}
	if err := c.CheckSchedule(); err != nil {
		return err
	}
	return c.checkMemory()
}

// ValidateModel is [Config.Validate] without the training half: what building
// a network needs, such as one read by [FromHuggingFace].
func (c Config) ValidateModel() error {
	if c.VocabSize == 0 {
		return errors.New("vocab_size: got 0, which means from the text: set it to the tokenizer's vocabulary first")
	}
	if err := c.networkFields().Check(); err != nil {
		return err
	}
	if err := c.checkHeads(); err != nil {
		return err
	}
	if err := c.checkParts(); err != nil {
		return err
	}
	if err := c.checkLora(); err != nil {
		return err
	}
	base, adapters := c.count()
	return c.checkParameters(float32Size * (base + adapters + c.masks()))
}

// checkHeads: the features can be dealt to the heads only if the heads divide
// them, unless both sizes of a head are given.
func (c Config) checkHeads() error {
	if (c.QKSize == 0 || c.VSize == 0) && c.NEmbd%c.NHead != 0 {
		return errors.Errorf("n_head: %d heads do not divide n_embd %d; set both qk_size and v_size to do without",
			c.NHead, c.NEmbd)
	}
	return nil
}

// checkParts asks the named variants.
func (c Config) checkParts() error {
	c = c.Resolved()
	for _, check := range []func(Config) error{c.position().Check, c.attention().Check, c.block().Check} {
		if check == nil {
			continue
		}
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) checkLora() error {
	if c.LoraR == 0 {
		switch {
		case c.LoraAlpha != 0:
			return errors.Errorf("lora_alpha: got %v, want 0 while lora_r is 0", c.LoraAlpha)
		case len(c.LoraTargets) > 0:
			return errors.Errorf("lora_targets: got %s, want none while lora_r is 0", field.Clip(strings.Join(c.LoraTargets, ",")))
		}
		return nil
	}
	block, head := c.linears()
	var names []string
	for _, l := range append(block, head) {
		names = append(names, l.Name)
	}
	for i, target := range c.LoraTargets {
		one := Config{Network: Network{LoraR: 1, LoraTargets: []string{target}}}
		switch {
		case !slices.ContainsFunc(names, one.Adapts):
			return errors.Errorf("lora_targets: got %q, want endings of %s", field.Clip(target), strings.Join(names, ", "))
		case slices.Contains(c.LoraTargets[:i], target):
			return errors.Errorf("lora_targets: got %s twice", target)
		case c.Resolved().head().Linear == nil && one.Adapts(head.Name):
			return errors.New("lora_targets: got lm_head, which in a tied head has no weight of its own to adapt")
		}
	}
	return nil
}

// ResumeDiff returns an error that names every field in which c differs from
// the saved configuration of the run to resume, other than those that do not
// change what a step computes: max_iters, eval_interval, eval_iters,
// log_interval, out_dir, threads and recompute. A zero and the usual value it stands for
// are equal.
func (c Config) ResumeDiff(saved Config) error {
	c, saved = c.Resolved(), saved.Resolved()
	return c.fields().Fixed().Diff("resume", saved.fields())
}
