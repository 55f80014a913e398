package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// Directories in out_dir with models alone.
const (
	averagedDir = "averaged" // of the averaged weights
	bestDir     = "best"     // of the lowest validation loss, if the run has patience
)

// fit does the steps up to max_iters, evaluates and saves at intervals, and saves when it is interrupted. A run that
// was interrupted before an evaluation still does it.
func fit(ctx context.Context, t *gpt.Trainer, dir *checkpoint.Dir, r *report) error {
	c := t.Config()
	evaluated := r.Evaluated(t.Done)
	if evaluated && c.Patience > 0 && t.Since == 0 { // the process may have been killed before it was saved
		r.Keep(r.alone(bestDir, t.Model))
	}
	for ; ; evaluated = false {
		if !evaluated && (t.Done%c.EvalInterval == 0 || t.Done == c.MaxIters) {
			if err := evaluate(ctx, t, dir, r); err != nil {
				return stopped(ctx, t, dir, r, err)
			}
			if t.Stalled() {
				r.Print("stopped at step %d of %d: %d evaluations without a val loss below %.4f (-patience); "+
					"-resume continues", t.Done, c.MaxIters, t.Since, t.Best)
				break
			}
		}
		if t.Done >= c.MaxIters {
			break
		}
		if ctx.Err() != nil {
			return stopped(ctx, t, dir, r, ctx.Err())
		}
		if err := tell(t.Group, step); err != nil {
			return err
		}
		p, err := t.Step()
		if err != nil {
			return err
		}
		r.Step(p)
	}
	bar := r.validating()
	if err := tell(t.Group, validation); err != nil {
		return err
	}
	loss, err := t.EvaluateAll(uninterrupted(ctx, t.Group), func(done, _ int) { bar.Draw(done) })
	bar.Close()
	if err != nil {
		return stopped(ctx, t, dir, r, err)
	}
	r.full(loss)
	return r.averaged()
}

// evaluate measures and saves, and draws only then: a disk without room for a picture may have room for the checkpoint.
// The line of the metrics comes before the checkpoint, so that a run that is killed between them does not evaluate
// twice.
func evaluate(ctx context.Context, t *gpt.Trainer, dir *checkpoint.Dir, r *report) error {
	if err := tell(t.Group, evaluation); err != nil {
		return err
	}
	done := program.Doing(r.out, "evaluating")
	e, err := t.Evaluate(uninterrupted(ctx, t.Group))
	done()
	if err != nil {
		return err
	}
	curvature, err := r.largest(ctx)
	if err != nil {
		return err
	}
	r.evaluation(t.Done, e, curvature)
	if err := r.save(t, dir); err != nil {
		return err
	}
	r.Keep(r.plot())
	if t.Config().Patience > 0 && t.Since == 0 {
		r.Keep(r.alone(bestDir, t.Model))
	}
	r.Keep(r.watch.look(ctx))
	return nil
}

// alone saves a model alone in a directory of its own in out_dir, under the trainer's step.
func (r *report) alone(name string, m *gpt.Model) error {
	files, err := m.Files(r.trainer.Tokenizer)
	if err != nil {
		return err
	}
	path := filepath.Join(r.trainer.Config().OutDir, name)
	dir, err := checkpoint.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Save(r.trainer.Done, files)
}

// averaged saves the model of the averaged weights, if there are any.
func (r *report) averaged() error {
	if r.trainer.Config().EMA == 0 {
		return nil
	}
	m, err := r.trainer.Averaged()
	if err != nil {
		return err
	}
	r.Print("saving the averaged weights to %s", filepath.Join(r.trainer.Config().OutDir, averagedDir))
	return r.alone(averagedDir, m)
}

func (r *report) save(t *gpt.Trainer, dir *checkpoint.Dir) error {
	files, err := t.Files()
	if err != nil {
		return err
	}
	if err := tell(t.Group, saving); err != nil {
		return err
	}
	defer program.Doing(r.out, "saving")()
	return dir.Save(t.Done, append(files, r.source.Stamp(t.Corpus)))
}

// stopped saves if a signal is the reason, and adds it to the error.
func stopped(ctx context.Context, t *gpt.Trainer, dir *checkpoint.Dir, r *report, err error) error {
	if ctx.Err() == nil {
		return err
	}
	if err := r.save(t, dir); err != nil {
		return err
	}
	return errors.WithMessagef(context.Cause(ctx), "saved at step %d, continue with -resume", t.Done)
}

// sample prints a sample of the model, token by token as they are drawn.
func sample(ctx context.Context, m *gpt.Model, tok text.Tokenizer, o options, seed uint64, w io.Writer) error {
	if o.tokens == 0 {
		return nil
	}
	if o.weights != "" {
		var err error
		program.Doing(w, "packing the weights")
		if m, err = m.Packed(o.weights); err != nil {
			return errors.Wrap(err, "-weights")
		}
	}
	fmt.Fprintln(w)
	n, speed, err := base.Write(ctx, w, m, tok, o.prompt, o.tokens, o.sampling.Sampler(seed), o.stop...)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n\n%d %ss, %.0f tok/s\n", n, unit(tok), speed)
	return err
}
