package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// historyFile is the file of a checkpoint with the measurements.
const historyFile = "history.json"

// unsaved is the time between two checkpoints.
const unsaved = time.Minute

// result is a trained model with the measurements during the training.
type result struct {
	options
	*gpt.Trainer
	model   *gpt.Model
	dir     *checkpoint.Dir // nil without -out_dir
	history []seen
}

// begin trains a model on texts, from the beginning or from the checkpoint in out_dir.
func begin(ctx context.Context, o options, args []string, stdout, stderr io.Writer) (*result, error) {
	if !o.resume {
		return o.begin(ctx, stdout)
	}
	path := o.OutDir
	dir, saved, err := base.Decoder().Resume(path, stderr)
	if err != nil {
		return nil, errors.Wrap(err, "-resume")
	}
	defer dir.Close()
	defer saved.Close()
	was, err := base.SavedConfig(saved)
	if err != nil {
		return nil, err
	}
	if o, err = parse(options{Config: was}, args, io.Discard); err != nil {
		return nil, err
	}
	o.OutDir = path // it may have been moved
	if err := o.ResumeDiff(was); err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", saved.Path)
	}
	r, err := o.trainer(ctx, saved)
	if err != nil {
		return nil, err
	}
	r.dir = dir
	if err := train.ReadJSON(saved, historyFile, train.MaxJSON, &r.history); err != nil {
		return nil, err
	}
	return r, r.train(ctx, stdout)
}

// begin trains a new model.
func (o options) begin(ctx context.Context, stdout io.Writer) (*result, error) {
	r, err := o.trainer(ctx, nil)
	if err != nil {
		return nil, err
	}
	if o.OutDir != "" {
		if r.dir, err = base.Begin(o.OutDir); err != nil {
			return nil, err
		}
		defer r.dir.Close()
	}
	return r, r.train(ctx, stdout)
}

// trainer returns a model with its trainer, in the state of a checkpoint if there is one. Every text is drawn, so the
// trainer reads no corpus.
func (o options) trainer(ctx context.Context, saved *checkpoint.Checkpoint) (r *result, err error) {
	none, err := text.Rows(func(yield func([]int, []int) bool) { yield([]int{0}, []int{text.Ignore}) }, 1)
	if err != nil {
		return nil, err
	}
	tok, err := text.NewCharacters("-")
	if err != nil {
		return nil, err
	}
	r = &result{options: o}
	c, data := o.Config, text.Dataset{Training: none, Validation: none, Sum: "texts that repeat themselves"}
	c.Context, c.Hooks.Fill = ctx, o.fill()
	if saved == nil {
		r.Trainer, err = gpt.NewTrainer(c, data, tok)
	} else {
		r.Trainer, err = gpt.Resume(c, data, tok, saved)
	}
	if err != nil {
		return nil, err
	}
	r.model = r.Trainer.Model
	return r, nil
}

// fill returns a function that fills the batch of a step. One generator draws the texts of all steps, so those before
// the first step of a run that is resumed are drawn again.
func (o options) fill() func(step, micro int, x, y []int) error {
	var rng *rand.Rand
	next := -1
	return func(step, _ int, x, y []int) error {
		if step < next || next < 0 {
			rng, next = rand.New(rand.NewPCG(o.Seed, 0x74657874)), 0
		}
		for ; next <= step; next++ {
			batch(rng, x, y, o.BlockSize, o.VocabSize)
		}
		return nil
	}
}

// train does the steps up to max_iters, measures the model about forty times, and saves at intervals and when it is
// interrupted.
func (r *result) train(ctx context.Context, stdout io.Writer) error {
	c := r.options.Config
	eyes, err := inspect.Tap(r.model, "h.*.attn.weights", "logits")
	if err != nil {
		return err
	}
	every, saved := max(1, c.MaxIters/40), time.Now()
	fmt.Fprintf(stdout, "%8s  %10s  %10s  %9s  %8s\n", "step", "first half", "repetition", "induction", "previous")
	for {
		i := r.Done
		measured := len(r.history) > 0 && r.history[len(r.history)-1].Step == i
		if !measured && (i%every == 0 || i == c.MaxIters) {
			now, err := r.see(eyes, i)
			if err != nil {
				return err
			}
			r.history = append(r.history, now)
			fmt.Fprintf(stdout, "%8d  %10.3f  %10.3f  %9.3f  %8.3f\n",
				i, now.First, now.Second, most(now.Induction), most(now.Previous))
		}
		done := i >= c.MaxIters || ctx.Err() != nil
		if r.dir != nil && (done || time.Since(saved) > unsaved) {
			if err := r.save(); err != nil {
				return err
			}
			saved = time.Now()
		}
		switch {
		case ctx.Err() != nil && r.dir != nil:
			return errors.WithMessagef(context.Cause(ctx), "saved at step %d, continue with -resume", i)
		case done:
			return context.Cause(ctx)
		}
		if _, err := r.Step(); err != nil {
			return err
		}
	}
}

// save saves a checkpoint.
func (r *result) save() error {
	files, err := r.Files()
	if err != nil {
		return err
	}
	history := checkpoint.File{Name: historyFile, Write: train.WriteJSON(r.history)}
	return r.dir.Save(r.Done, append(files, history))
}
