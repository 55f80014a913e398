package main

import (
	"cmp"
	"context"
	"io"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// again returns the configuration of the run that saved a checkpoint in dir, with the given flags applied. Flags may
// change only settings that do not affect the steps.
func again(dir string, saved *checkpoint.Checkpoint, args []string) (gpt.Config, options, error) {
	was, err := base.SavedConfig(saved)
	if err != nil {
		return was, options{}, err
	}
	c, o, err := parse(was, args, io.Discard)
	if err != nil {
		return c, o, err
	}
	c.OutDir = dir                                   // it may have been moved
	c.VocabSize = cmp.Or(c.VocabSize, was.VocabSize) // 0 means the text's
	tok, err := base.Tokenizer(saved)
	if err != nil {
		return c, o, err
	}
	return c, o, errors.Wrapf(cmp.Or(c.ResumeDiff(was), o.hasKind(tok)), "checkpoint %s", saved.Path)
}

// spared returns the number of checkpoints before the newest that stay: -keep_checkpoints, or as many as a resumed run
// has there already, unless they are the few that every run may have.
func (o options) spared(dir string) int {
	const few = 3 // a process that was killed while it saved leaves one too many
	names, err := filepath.Glob(filepath.Join(dir, "step-*[0-9]"))
	if err != nil || o.given["keep_checkpoints"] || len(names) <= few {
		return o.keep
	}
	return max(o.keep, len(names)-1)
}

// finished reports whether a run has no steps left, and prints how to continue it.
func finished(c gpt.Config, saved *checkpoint.Checkpoint, stdout io.Writer) bool {
	return base.Finished(c.Run, saved, "-sample_only writes", stdout)
}

// trainer begins a run of some ranks, or resumes it from the checkpoint.
func trainer(
	ctx context.Context, g dist.Group, c gpt.Config, data text.Corpus, tok text.Tokenizer,
	saved *checkpoint.Checkpoint,
) (*gpt.Trainer, error) {
	c.Hooks.Group, c.Context = g, ctx
	if saved == nil {
		return gpt.NewTrainer(c, data, tok)
	}
	t, err := gpt.Resume(c, data, tok, saved)
	if err != nil {
		return nil, err
	}
	return t, saved.Close() // the next save may remove it
}
