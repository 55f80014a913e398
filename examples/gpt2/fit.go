package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// averagedDir is the folder in out_dir with the averaged weights of -ema.
const averagedDir = "averaged"

// lossFile is the picture of the losses in out_dir.
const lossFile = "loss.png"

// bestFile is the file of a checkpoint with the trained weights of the lowest validation loss.
const bestFile = "best.safetensors"

// unsaved is the longest time between two checkpoints, unless a checkpoint itself takes a twentieth of it.
const unsaved = time.Minute

// objective holds the parts in which trainings on texts and trainings on preferences differ.
type objective struct {
	about   string // the data
	loss    string // what the loss is, for the picture
	step    func() (p train.Progress, fields []string, err error)
	files   func() ([]checkpoint.File, error)
	restore func(cp *checkpoint.Checkpoint) error
	store   func(m *gpt.Model, dir string) error // writes a model, or its adapter
	begin   func(ctx context.Context) error      // reports before the first step
	measure func(ctx context.Context) (evaluated, error)
	end     func(ctx context.Context, step int) (string, error) // what the final model is like
}

// evaluated is an evaluation during the training.
type evaluated struct {
	line string
	program.EvalLine
}

// training is a run of tune, train, dpo or grpo.
type training struct {
	*gpt.Trainer
	objective
	options
	recipe recipe
	dir    *checkpoint.Dir
	log    *program.Log
	stdout io.Writer
	bytes  float64       // per token of the validation split
	step   int           // of the weights that are saved
	saved  time.Time     // when the last checkpoint was saved
	took   time.Duration // what it took
	best   []train.Named // of the lowest validation loss; nil without -patience
}

// fit trains until max_iters, -patience or Ctrl-C, and saves in out_dir: with -patience the weights of the lowest
// validation loss, otherwise the last ones. The averages of -ema are saved beside them. It saves a checkpoint every
// minute, at every eval_interval if that is given, and at the end.
func (o options) fit(
	ctx context.Context, gt *gpt.Trainer, what objective, from resumed, bytes float64, stdout, stderr io.Writer,
) (err error) {
	c := gt.Config()
	t := &training{
		Trainer: gt, objective: what, options: o, recipe: from.recipe, dir: from.dir, stdout: stdout, bytes: bytes,
		saved: time.Now(),
	}
	if from.saved != nil {
		if err := t.resume(from.saved); err != nil {
			return err
		}
	} else if t.recipe, err = o.recipe(); err != nil {
		return err
	}
	all, trained := c.Count()
	fmt.Fprintf(stdout, "%s parameters, %s trained, on %s\n", program.Thousands(all), program.Thousands(trained),
		what.about)
	if from.saved != nil {
		fmt.Fprintf(stdout, "resumed at step %d\n", t.Done)
	} else if what.begin != nil {
		if err := what.begin(ctx); err != nil {
			return err
		}
	}
	if t.dir == nil { // only now: a refused run leaves no files
		if t.dir, err = base.Begin(filepath.Join(c.OutDir, checkpointsDir)); err != nil {
			return err
		}
		defer t.dir.Close()
	}
	metrics, err := program.OpenMetrics(c.OutDir, t.Done)
	if err != nil {
		return err
	}
	t.log = &program.Log{Bar: program.NewBar(stderr, "training", t.Done, c.MaxIters), Metrics: metrics}
	defer t.log.Close()
	stopped := t.steps(ctx)
	t.log.Starving()
	t.log.Bar.Close()
	if stopped != nil && (ctx.Err() == nil || t.Done == 0) {
		return stopped
	}
	if err := t.save(); err != nil {
		return err
	}
	t.draw()
	if err := t.results(); err != nil {
		return err
	}
	if stopped != nil {
		return errors.WithMessagef(stopped, "saved to %s as it was after step %d, continue with -resume", c.OutDir,
			t.step)
	}
	report, err := t.end(ctx, t.step)
	if err != nil {
		return program.Cause(ctx, err)
	}
	t.log.Add(map[string]string{"result": report}) // a line without a step: the run is finished
	if _, err := fmt.Fprintf(stdout, "%ssaved to %s\n", report, c.OutDir); err != nil {
		return err
	}
	if c.EMA > 0 {
		fmt.Fprintf(stdout, "saved the averaged weights to %s\n", filepath.Join(c.OutDir, averagedDir))
	}
	return t.log.Trouble
}

// resume sets the state of a checkpoint.
func (t *training) resume(cp *checkpoint.Checkpoint) error {
	if err := t.restore(cp); err != nil {
		return err
	}
	if t.recipe.Best == 0 {
		return nil
	}
	t.keep()
	t.step = t.recipe.Best
	f, err := train.OpenTensors(cp, bestFile)
	if err == nil {
		err = train.Restore(t.best, f)
	}
	return errors.Wrapf(err, "checkpoint %s: %s", cp.Path, bestFile)
}

// steps does the steps, the evaluations between them, and the checkpoints.
func (t *training) steps(ctx context.Context) error {
	c := t.Config()
	for known := t.log.Evaluated(t.Done); ; known = false {
		at := t.regular && !known && t.Done > 0 && (t.Done%c.EvalInterval == 0 || t.Done == c.MaxIters)
		if at && t.measure != nil {
			if err := t.evaluate(ctx); err != nil {
				return program.Cause(ctx, err)
			}
		}
		if at || time.Since(t.saved) > max(unsaved, 20*t.took) {
			if err := t.save(); err != nil {
				return err
			}
			t.draw()
		}
		switch {
		case t.regular && t.Stalled():
			fmt.Fprintf(t.stdout,
				"stopped at step %d of %d: %d evaluations without a val loss below %.4f (-patience)\n",
				t.Done, c.MaxIters, t.Since, t.Best)
			return nil
		case t.Done >= c.MaxIters:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		p, fields, err := t.objective.step()
		if err != nil {
			return program.Cause(ctx, err)
		}
		t.log.Step(p, fields...)
	}
}

// evaluate measures, prints, and keeps the weights if they are the best so far. The metrics come before the checkpoint:
// one that is not reached again would lack them.
func (t *training) evaluate(ctx context.Context) error {
	e, err := t.measure(ctx)
	if err != nil {
		return err
	}
	t.log.Bar.Close() // the line is above it
	fmt.Fprintln(t.stdout, e.line)
	e.Starving = t.log.Starving()
	t.log.Add(e.EvalLine)
	if t.Config().Patience > 0 && t.Since == 0 {
		t.keep()
	}
	return nil
}

// keep stores the trained weights as the best so far.
func (t *training) keep() {
	t.best, t.step = nil, t.Done
	for _, p := range t.Model.Trainable() {
		t.best = append(t.best, train.Named{Name: p.Name(), Tensor: p.Tensor().Clone()})
	}
}

// save saves a checkpoint.
func (t *training) save() error {
	start := time.Now()
	list, err := t.files()
	if err != nil {
		return err
	}
	t.recipe.Best = 0
	if t.best != nil {
		t.recipe.Best = t.step
		list = append(list, checkpoint.File{Name: bestFile, Write: func(w io.Writer) error {
			return train.WriteTensors(w, t.best, nil, "")
		}})
	}
	list = append(list, checkpoint.File{Name: recipeFile, Write: train.WriteJSON(t.recipe)})
	if err := t.dir.Save(t.Done, list); err != nil {
		return err
	}
	t.saved, t.took = time.Now(), time.Since(start)
	return nil
}

// draw draws the losses.
func (t *training) draw() {
	t.log.Keep(errors.Wrap(file.Replace(filepath.Join(t.Config().OutDir, lossFile), func(w io.Writer) error {
		return picture.Losses(w, t.loss, &t.log.Loss, &t.log.Train, &t.log.Val, 0)
	}), lossFile))
}

// results writes the model, or its adapter, and the model of the averaged weights.
func (t *training) results() error {
	c := t.Config()
	if c.EMA > 0 {
		m, err := t.Averaged()
		if err == nil {
			err = t.publish(averagedDir, m)
		}
		if err != nil {
			return err
		}
	}
	if t.best == nil {
		t.step = t.Done
	}
	for i, best := range t.best {
		if err := t.Model.Trainable()[i].Tensor().Copy(best.Tensor); err != nil {
			return err
		}
	}
	return t.publish("", t.Model)
}

// publish writes a model into a directory of out_dir, in which there may be an earlier one: each file takes its place
// when all of them are written.
func (t *training) publish(name string, m *gpt.Model) error {
	to := filepath.Join(t.Config().OutDir, name)
	from := filepath.Join(t.Config().OutDir, checkpointsDir, "result")
	if err := os.RemoveAll(from); err != nil { // a killed process has left it
		return err
	}
	if err := t.objective.store(m, from); err != nil {
		return err
	}
	return file.MoveAll(from, to)
}
