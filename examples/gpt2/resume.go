package main

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/folder"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// checkpointsDir is the directory in out_dir with the checkpoints of a training, whose result is in out_dir itself.
const checkpointsDir = "checkpoints"

// recipeFile is the file of a checkpoint with its recipe.
const recipeFile = "recipe.json"

// recipe holds what determines a training beside its configuration.
type recipe struct {
	Directory string `json:"directory"` // in which the program was called, for relative paths
	Task      string `json:"task"`
	Model     string `json:"model,omitempty"`
	Data      string `json:"data"`
	Template  string `json:"template,omitempty"`
	Full      bool   `json:"full,omitempty"`
	Regular   bool   `json:"regular,omitempty"` // options.regular

	Beta    float64 `json:"beta,omitempty"`
	Clip    float64 `json:"clip,omitempty"`
	Group   int     `json:"group,omitempty"`
	Length  int     `json:"length,omitempty"`
	Updates int     `json:"updates,omitempty"`
	Score   string  `json:"score,omitempty"`

	Best int `json:"best,omitempty"` // the step of bestFile
}

// recipe returns the recipe of a new training.
func (o options) recipe() (r recipe, err error) {
	r = recipe{
		Task: o.task, Model: o.model, Data: o.data, Template: o.template, Full: o.full, Regular: o.regular,
	}
	switch o.task {
	case "grpo":
		r.Clip, r.Group, r.Length, r.Updates, r.Score = o.clip, o.group, o.length, o.updates, o.score
		r.Beta = o.beta
	case "dpo":
		r.Beta = o.beta
	}
	r.Directory, err = os.Getwd()
	return r, err
}

// options returns the options of the recipe, as far as its task reads them.
func (r recipe) options() (o options) {
	o.model, o.template, o.full, o.regular = r.Model, r.Template, r.Full, r.Regular
	o.beta, o.clip, o.group, o.length, o.updates, o.score = r.Beta, r.Clip, r.Group, r.Length, r.Updates, r.Score
	o.resume, o.task, o.data = true, r.Task, r.Data
	return o
}

// path returns a path of the recipe as seen from the present directory.
func (r recipe) path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.Directory, name)
}

// diff returns an error that names the first flag that would change the training.
func (r recipe) diff(was recipe) error {
	for _, f := range []struct {
		name     string
		got, was any
	}{
		{"full", r.Full, was.Full}, {"beta", r.Beta, was.Beta}, {"clip", r.Clip, was.Clip},
		{"group", r.Group, was.Group}, {"length", r.Length, was.Length}, {"updates", r.Updates, was.Updates},
		{"score", r.Score, was.Score}, {"template", r.Template, was.Template},
	} {
		if f.got != f.was {
			return errors.Errorf("-%s: got %#v, want %#v as saved", f.name, f.got, f.was)
		}
	}
	return nil
}

// resumed is a training that goes on from a checkpoint; its checkpoint is nil for a new one.
type resumed struct {
	dir    *checkpoint.Dir
	saved  *checkpoint.Checkpoint
	recipe recipe
}

// Close unlocks the directory and closes the checkpoint.
func (r resumed) Close() {
	r.saved.Close()
	r.dir.Close()
}

// resumeFlags adds the flags of the command resume. The command whose training it continues reads the arguments again.
func (o *options) resumeFlags(fs *program.FlagSet) {
	fs.Group("model", "the model and the text, if they have been moved", func(fs *flag.FlagSet) {
		fs.StringVar(&o.model, "model", "", "the model of the training")
		fs.StringVar(&o.data, "data", "", "the text of the training")
	})
	o.configFlags(fs, func(string) bool { return true })
	fs.Often("out_dir max_iters eval_interval eval_iters patience threads memory_limit recompute model data")
}

// resume continues the training in out_dir with its settings. Flags may change only those that do not affect the steps.
func resume(ctx context.Context, o options, args []string, stdout, stderr io.Writer) error {
	out := o.config.OutDir
	dir, saved, err := folder.Kind("").Resume(filepath.Join(out, checkpointsDir), stderr)
	if err != nil {
		return errors.Wrap(err, "-resume")
	}
	was := resumed{dir: dir, saved: saved}
	defer was.Close()
	if err := train.ReadJSON(saved, recipeFile, train.MaxJSON, &was.recipe); err != nil {
		return errors.Wrap(err, "-resume")
	}
	if o, err = was.again(args); err != nil {
		return errors.WithMessagef(err, "checkpoint %s", saved.Path)
	}
	o.config.OutDir = out // it may have been moved
	if base.Finished(o.config.Run, saved, "-model or -adapter uses it", stdout) {
		return nil
	}
	return o.begin(ctx, was, stdout, stderr)
}

// again returns the options of the training with the flags of args.
func (r *resumed) again(args []string) (o options, err error) {
	switch r.recipe.Task {
	case "tune", "train", "dpo", "grpo":
	default:
		return o, errors.Errorf("%s: task: got %.64q, want tune, train, dpo or grpo", recipeFile, r.recipe.Task)
	}
	o = r.recipe.options()
	o.sampling = base.SamplingOfNanoGPT()
	if o.config, err = base.SavedConfig(r.saved); err != nil {
		return o, err
	}
	was := o.config
	fs := program.Flags("gpt2 "+o.task, io.Discard)
	for _, t := range tasks() {
		if t.name == o.task {
			t.flags(&o, fs)
		}
	}
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	o.given = fs.Given()
	if err := o.settle(); err != nil {
		return o, err
	}
	now, err := o.recipe()
	if err != nil {
		return o, err
	}
	if err := now.diff(r.recipe); err != nil {
		return o, err
	}
	for name, path := range map[string]*string{"model": &o.model, "data": &o.data} {
		if !o.given[name] {
			*path = r.recipe.path(*path)
		}
	}
	return o, o.config.ResumeDiff(was)
}
