package main

import (
	"cmp"
	"context"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pkg/errors"
)

// again returns the settings of the run that saved a checkpoint in dir, with the given flags applied. Flags may change
// only settings that do not affect the steps.
func again(dir string, saved *checkpoint.Checkpoint, args []string) (c seq2seq.Config, o options, err error) {
	s, err := seq2seq.ReadState(saved)
	if err != nil {
		return c, o, err
	}
	was, err := pairingOf(saved)
	if err != nil {
		return c, o, err
	}
	texts := defaultPairing()
	if was != nil {
		texts = *was
	}
	if c, o, err = parse(s.Config, texts, args, io.Discard); err != nil {
		return c, o, err
	}
	c.OutDir, o.was = dir, was // it may have been moved
	if err := c.ResumeDiff(s.Config); err != nil || was == nil {
		return c, o, errors.Wrapf(err, "checkpoint %s", saved.Path)
	}
	return c, o, errors.Wrapf(o.diff(*was), "checkpoint %s", saved.Path)
}

// finished reports whether a run has no steps left, and prints how to continue it.
func finished(c seq2seq.Config, saved *checkpoint.Checkpoint, stdout io.Writer) bool {
	return base.Finished(c.Run, saved, "-translate TEXT translates", stdout)
}

// trainer begins a run, or resumes it from the checkpoint.
func trainer(
	ctx context.Context, c seq2seq.Config, texts *corpus, saved *checkpoint.Checkpoint,
) (*seq2seq.Trainer, error) {
	c.Context = ctx
	if saved == nil {
		c, err := texts.fit(c)
		if err != nil {
			return nil, err
		}
		return seq2seq.NewTrainer(c, texts)
	}
	t, err := seq2seq.Resume(c, texts, texts.source, texts.target, saved)
	if err != nil {
		return nil, errors.Wrap(err, "-resume")
	}
	return t, saved.Close() // the next save may remove it
}

// check returns the errors of a configuration that do not depend on the texts.
func check(c seq2seq.Config) error {
	c.SourceSize = cmp.Or(c.SourceSize, max(1, c.Options.Get("mixed_keys")))
	for _, fromTexts := range []*int{&c.TargetSize, &c.SourceVocab, &c.TargetVocab} {
		*fromTexts = cmp.Or(*fromTexts, 1)
	}
	return c.Validate()
}

// fit fills in the sizes that come from the texts. Given sizes must be large enough for all texts, including the
// held-out ones.
func (c *corpus) fit(config seq2seq.Config) (seq2seq.Config, error) {
	for _, f := range []struct {
		name, what string
		field      *int
		value      int
	}{
		{"source_size", "the longest source has %d tokens", &config.SourceSize, c.longest[0]},
		{"target_size", "the longest target has %d tokens with its end", &config.TargetSize, c.longest[1] + 1},
		{"source_vocab", "the sources have %d different tokens", &config.SourceVocab, c.source.Size()},
		{"target_vocab", "the targets have %d different tokens", &config.TargetVocab, c.target.Size()},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
		if *f.field < f.value {
			return config, errors.Errorf("%s: got %d, but "+f.what, f.name, *f.field, f.value)
		}
	}
	config.DrawnTokens = c.target.Size()
	return config, nil
}
