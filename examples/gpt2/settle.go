package main

import (
	"flag"
	"io"
	"maps"
	"slices"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pkg/errors"
)

// settle finds the one thing to do, and refuses flags that would do nothing there.
func (o *options) settle() error {
	o.task = "write"
	for _, task := range []string{"prompt", "eval", "tune", "merge", "train", "check"} {
		if !o.given[task] {
			continue
		}
		if o.task != "write" {
			return errors.Errorf("-%s: one thing at a time, and -%s is another", task, o.task)
		}
		if o.task = task; task == "prompt" {
			o.task = "write"
		}
	}
	if err := o.read(); err != nil {
		return err
	}
	if o.task == "merge" && o.adapter == "" {
		return errors.New("-merge: no adapter to merge, want -adapter")
	}
	if o.task == "write" && o.prompt == "" {
		return errors.New("-prompt: empty, want at least one character, such as a newline")
	}
	if err := program.Want(o.stride >= 0, "-stride", o.stride, "0 or more"); err != nil {
		return err
	}
	if err := base.CheckTraining(o.config.Training, o.config.Run); err != nil {
		return err
	}
	if o.weights != "" {
		if err := o.weights.Validate(); err != nil {
			return errors.Wrap(err, "-weights")
		}
	}
	return o.sampler().Validate()
}

// read refuses flags that the task does not read.
func (o *options) read() error {
	reads := map[string][]string{
		"write": {"model", "adapter", "block_size", "prompt", "tokens", "temperature", "top_k", "top_p", "min_p", "seed", "weights"},
		"eval":  {"model", "adapter", "block_size", "eval", "stride", "weights"},
		"tune":  {"model", "tune", "full"},
		"merge": {"model", "adapter", "block_size", "merge", "out_dir"},
		"train": {"train", "tokenizer"},
		"check": {"model", "check", "data"},
	}[o.task]
	if o.task == "tune" || o.task == "train" {
		configured := program.Flags("", io.Discard)
		o.config.Flags(configured)
		configured.VisitAll(func(f *flag.Flag) { reads = append(reads, f.Name) })
	}
	for _, name := range slices.Sorted(maps.Keys(o.given)) {
		if !slices.Contains(reads, name) {
			task := o.task
			if task == "write" {
				task = "prompt"
			}
			return errors.Errorf("-%s: not read by -%s", name, task)
		}
	}
	return nil
}

func (o options) sampler() *gpt.Sampler {
	s := gpt.NewSampler(o.config.Seed)
	s.Temperature, s.TopK, s.TopP, s.MinP = o.temperature, o.topK, o.topP, o.minP
	return s
}
