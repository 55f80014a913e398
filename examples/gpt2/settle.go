package main

import (
	"flag"
	"io"
	"maps"
	"slices"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// settle determines the task, and refuses flags that would have no effect on it.
func (o *options) settle() error {
	if o.task == "" { // a new call, rather than a training that is resumed
		if err := o.choose(); err != nil {
			return err
		}
	}
	o.regular = o.regular || o.given["eval_interval"] || o.given["patience"]
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
	if _, ok := scores[o.score]; !ok && o.task == "grpo" {
		names := slices.Sorted(maps.Keys(scores))
		return errors.Errorf("-score: got %q, want one of %v%s", o.score, names, spelling.Hint(o.score, names))
	}
	if err := base.CheckTraining(o.config.Training, o.config.Run); err != nil {
		return err
	}
	if o.weights != "" {
		if err := o.weights.Validate(); err != nil {
			return errors.Wrap(err, "-weights")
		}
	}
	return o.sampling.Sampler(o.config.Seed).Validate()
}

// choose determines the task.
func (o *options) choose() error {
	o.task = "write"
	texts := map[string]string{"eval": o.eval, "choices": o.choices, "tune": o.tune, "train": o.train, "dpo": o.dpo,
		"grpo": o.grpo, "export": o.export}
	for _, task := range []string{
		"prompt", "eval", "choices", "tune", "dpo", "grpo", "merge", "export", "train", "check",
	} {
		switch path, isText := texts[task]; {
		case !o.given[task] || task == "merge" && !o.merge || task == "check" && !o.check:
			continue
		case isText && path == "":
			return errors.Errorf("-%s: empty, want a file", task)
		}
		if o.task != "write" {
			return errors.Errorf("-%s: only one task at a time, and -%s is another", task, o.task)
		}
		if o.task = task; task == "prompt" {
			o.task = "write"
		}
	}
	return nil
}

// read returns an error for flags that the task does not read.
func (o *options) read() error {
	reads := map[string][]string{
		"write": {
			"model", "adapter", "block_size", "prompt", "tokens", "temperature", "top_k", "top_p", "min_p",
			"repetition_penalty", "seed",
			"weights",
		},
		"eval":    {"model", "adapter", "block_size", "eval", "stride", "weights"},
		"choices": {"model", "adapter", "block_size", "choices", "weights"},
		"tune":    {"model", "tune", "full", "block_size", "dropout", "template", "resume"},
		"dpo":     {"model", "dpo", "full", "block_size", "dropout", "beta", "template", "resume"},
		"grpo": {
			"model", "grpo", "full", "block_size", "beta", "group", "length", "score", "updates", "clip", "template",
			"resume",
		},
		"merge":  {"model", "adapter", "block_size", "merge", "out_dir"},
		"export": {"model", "adapter", "export", "dtype"},
		"train":  {"train", "tokenizer", "preset", "resume"},
		"check":  {"model", "check", "data"},
	}[o.task]
	adapters := []string{"lora_r", "lora_alpha", "lora_targets", "lora_scale", "lora_fused"}
	switch o.task {
	case "tune", "dpo", "grpo": // the network is the folder's
		fields := train.Fields(&o.config.Training, &o.config.Run, nil, nil)
		if o.task != "tune" { // they are judged at the end, by other numbers than the loss
			fields = fields.Without("eval_iters", "patience", "label_smoothing", "z_loss")
		}
		reads = append(reads, fields.Names()...)
		if !o.full {
			reads = append(reads, adapters...)
		}
	case "train":
		if o.resume && (o.given["tokenizer"] || o.given["preset"]) {
			return errors.New("-tokenizer and -preset: the checkpoint has both: give neither with -resume")
		}
		configured := program.Flags("", io.Discard)
		o.config.Flags(configured)
		configured.VisitAll(func(f *flag.Flag) {
			if !slices.Contains(adapters, f.Name) {
				reads = append(reads, f.Name)
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(o.given)) {
		if !slices.Contains(reads, name) {
			task := o.task
			switch {
			case task == "write":
				task = "prompt"
			case o.full:
				task = "full"
			}
			return errors.Errorf("-%s: not read by -%s", name, task)
		}
	}
	for _, name := range []string{"schedule", "warmup_iters", "lr_decay_iters", "cooldown_iters", "min_lr"} {
		if o.given[name] && !o.config.DecayLR {
			return errors.Errorf("-%s: read with -decay_lr alone; give both", name)
		}
	}
	if o.given["eval_iters"] && !o.regular {
		return errors.New("-eval_iters: read with -eval_interval or -patience, which evaluate; give one of them")
	}
	return nil
}
