// Package base is what an example begins with that works on a trained model: the usual text, and where there is no
// checkpoint a model that is trained for a moment.
package base

import (
	"context"
	"fmt"
	"io"

	"github.com/pkg/errors"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/progress"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// Open is corpus.Open, with its note printed, and an interruption named.
func Open(ctx context.Context, path string, stderr io.Writer) (corpus.Source, error) {
	source, err := corpus.Open(ctx, path, stderr)
	if ctx.Err() != nil {
		return source, context.Cause(ctx)
	}
	if err == nil && source.Note != "" {
		fmt.Fprintln(stderr, source.Note)
	}
	return source, err
}

// Load is the newest checkpoint in dir, or nil if there is none.
func Load(dir string, stderr io.Writer) (*checkpoint.Checkpoint, error) {
	cp, err := checkpoint.Load(dir)
	if errors.Is(err, checkpoint.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, refused := range cp.Refused {
		fmt.Fprintln(stderr, "passed over:", refused)
	}
	return cp, nil
}

// New is a trainer on the text, which it has not begun with.
func New(c gpt.Config, source corpus.Source) (*gpt.Trainer, error) {
	tok, err := text.NewCharacters(source.Text)
	if err != nil {
		return nil, errors.Wrap(err, source.Name)
	}
	data, err := text.NewCorpus(source.Text, tok, c.BlockSize)
	if err != nil {
		return nil, errors.Wrap(err, source.Name)
	}
	return gpt.NewTrainer(c, data, tok)
}

// Train takes the steps that are left.
func Train(ctx context.Context, t *gpt.Trainer, what string, stderr io.Writer) error {
	steps := t.Config().MaxIters
	bar := progress.New(stderr, what, steps-t.Done)
	defer bar.Close()
	for t.Done < steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p, err := t.Step()
		if err != nil {
			return err
		}
		bar.Add(1, "loss %.3f", p.Loss)
	}
	return nil
}
