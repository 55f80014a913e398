package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// averagedDir is the folder in out_dir with the averaged weights of -ema.
const averagedDir = "averaged"

// training is a run of -tune or -train.
type training struct {
	*gpt.Trainer
	evaluates bool // at every eval_interval
	bytes     float64
	log       *program.Log
	step      int            // of the weights that are saved
	best      []graph.Tensor // of the lowest validation loss; nil without -patience
}

// fit trains until max_iters, -patience or Ctrl-C, and saves in out_dir: with -patience the weights of the lowest
// validation loss, otherwise the last ones. The averages of -ema are saved beside them.
func fit(
	ctx context.Context, o options, gt *gpt.Trainer, name string, stdout, stderr io.Writer,
	save func(m *gpt.Model, dir string) error,
) error {
	all, trained := gt.Config().Count()
	fmt.Fprintf(stdout, "%s parameters, %s trained, on %s: %s tokens, and %s to validate on\n",
		program.Thousands(all), program.Thousands(trained), name,
		program.Thousands(gt.Corpus.Train().Len()), program.Thousands(gt.Corpus.Val().Len()))
	bytes, err := text.BytesPerToken(gt.Corpus.Val(), gt.Tokenizer)
	if err != nil {
		return err
	}
	t := &training{Trainer: gt, bytes: bytes, evaluates: o.given["eval_interval"] || o.given["patience"],
		log: &program.Log{Bar: program.NewBar(stderr, "training", 0, gt.Config().MaxIters)}}
	before, err := t.validate(ctx, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "step 0: val loss %s\n", t.units(before))
	stopped := t.steps(ctx, stdout)
	if stopped != nil && (ctx.Err() == nil || t.Done == 0) {
		return stopped
	}
	if err := t.restore(); err != nil {
		return err
	}
	c := t.Config()
	if err := save(t.Model, c.OutDir); err != nil {
		return err
	}
	if c.EMA > 0 {
		m, err := t.Averaged()
		if err != nil {
			return err
		}
		if err := save(m, filepath.Join(c.OutDir, averagedDir)); err != nil {
			return err
		}
	}
	if stopped != nil {
		return errors.WithMessagef(stopped, "saved to %s as it was after step %d", c.OutDir, t.step)
	}
	after, err := t.validate(ctx, stderr)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "step %d: val loss %s\nsaved to %s\n", t.step, t.units(after), c.OutDir)
	if err == nil && c.EMA > 0 {
		_, err = fmt.Fprintf(stdout, "saved the averaged weights to %s\n", filepath.Join(c.OutDir, averagedDir))
	}
	return err
}

// units returns a loss in nats and in bits per byte.
func (t *training) units(loss float64) string {
	return fmt.Sprintf("%.4f, %.4f bits per byte", loss, text.BitsPerByte(loss, t.bytes))
}

// steps does the steps, and the evaluations between them.
func (t *training) steps(ctx context.Context, stdout io.Writer) error {
	defer t.log.Close()
	c := t.Config()
	for t.Done < c.MaxIters {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p, err := t.Step()
		if err != nil {
			return err
		}
		t.log.Step(p)
		if !t.evaluates || t.Done%c.EvalInterval != 0 && t.Done < c.MaxIters {
			continue
		}
		e, err := t.Evaluate(ctx)
		if err != nil {
			return program.Cause(ctx, err)
		}
		line := fmt.Sprintf("step %d: train loss %.4f, val loss %s, by %d batches", t.Done, e.Train, t.units(e.Val),
			c.EvalIters)
		if c.EMA > 0 {
			line += fmt.Sprintf("; val loss of the averaged weights %.4f", e.ValEMA)
		}
		t.log.Bar.Close() // the line is above it
		fmt.Fprintln(stdout, line)
		if c.Patience > 0 && t.Since == 0 {
			t.keep()
		}
		if t.Stalled() {
			fmt.Fprintf(stdout, "stopped at step %d of %d: %d evaluations without a val loss below %.4f (-patience)\n",
				t.Done, c.MaxIters, t.Since, t.Best)
			return nil
		}
	}
	return nil
}

// keep stores the trained weights as the best so far.
func (t *training) keep() {
	t.best, t.step = nil, t.Done
	for _, p := range t.Model.Trainable() {
		t.best = append(t.best, p.Tensor().Clone())
	}
}

// restore makes the best weights, if there are any, those of the model.
func (t *training) restore() error {
	if t.best == nil {
		t.step = t.Done
	}
	for i, best := range t.best {
		if err := t.Model.Trainable()[i].Tensor().Copy(best); err != nil {
			return err
		}
	}
	return nil
}

// validate returns the loss over the entire validation split.
func (t *training) validate(ctx context.Context, stderr io.Writer) (float64, error) {
	bar := program.NewBar(stderr, "validating", 0, (t.Corpus.Val().Len()-1)/t.Config().BlockSize)
	defer bar.Close()
	loss, err := t.EvaluateAll(ctx, func(done, _ int) { bar.Draw(done) })
	return loss, program.Cause(ctx, err)
}
