package main

import (
	"flag"
	"io"
	"slices"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/folder"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
	"github.com/pkg/errors"
)

// options holds the values of the flags of all commands.
type options struct {
	task                   string // the command's name
	model, adapter, prompt string
	data                   string // the file to train on or to measure the model on
	beta, clip             float64
	group, length, updates int
	score                  string
	tokenizer, preset      string
	template               string // of conversations to tune on: chatml, or a file
	full                   bool
	resume                 bool
	regular                bool   // a training evaluates and saves at every eval_interval
	export, dtype          string // the file or folder to write, and the type of its matrices
	stride, tokens         int
	sampling               base.Sampling
	weights                stored.Packing // empty means float32
	config                 gpt.Config     // of training; block_size, seed and out_dir apply to all tasks
	given                  map[string]bool
}

// parse reads the flags, with the recipe of the task as defaults.
func (t task) parse(args []string, stderr io.Writer) (o options, err error) {
	o = options{task: t.name, sampling: base.SamplingOfNanoGPT()}
	o.group, o.length, o.updates, o.clip, o.score = 8, 64, 1, 0.2, "equal"
	o.recommend()
	fs := program.Flags("gpt2 "+t.name, stderr)
	t.flags(&o, fs)
	if err := fs.Parse(args); err != nil || o.resume || t.run == nil { // the checkpoint has the settings
		return o, err
	}
	if o.full || o.preset != "" {
		if o.recommend(); o.preset != "" {
			if err := base.Preset(o.preset, &o.config); err != nil {
				return o, err
			}
			o.config.VocabSize, o.config.OutDir = 0, "out/gpt2" // the tokenizer may be another
		}
		if err := fs.Parse(args); err != nil { // again, because flags override these recipes
			return o, err
		}
	}
	o.given = fs.Given()
	return o, o.settle()
}

// recommend sets the recipe of the task.
func (o *options) recommend() {
	switch {
	case o.task == "train":
		o.config = small()
	case o.full:
		o.config = gpt.FullTuning()
	default:
		o.config = gpt.LoRATuning()
	}
	o.config.OutDir = "out/gpt2"
	switch o.task {
	case "dpo":
		o.beta = 0.1
		o.config.BatchSize, o.config.GradientAccumulationSteps = 2, 16
	case "grpo":
		o.beta = 0.04
		o.config.BatchSize, o.config.GradientAccumulationSteps = 8, 4
	}
}

// modelFlags adds the flags of the model, with its adapter if the command uses one.
func (o *options) modelFlags(fs *program.FlagSet, adapter bool) {
	fs.Group("model", "the model", func(fs *flag.FlagSet) {
		folder.ModelFlags(fs, &o.model, &o.adapter)
	}, map[bool]string{false: "adapter"}[adapter])
}

// blockFlag adds -block_size of a command that does not train.
func (o *options) blockFlag(fs *flag.FlagSet) {
	fs.IntVar(&o.config.BlockSize, "block_size", 0, "context length in tokens; 0 means the model's")
}

// dataFlag adds -data, whose earlier name was the command's.
func (o *options) dataFlag(fs *program.FlagSet, about string) {
	fs.Group("data", "the text", func(fs *flag.FlagSet) { fs.StringVar(&o.data, "data", o.data, about) })
	if o.task != "check" && o.task != "resume" {
		fs.Old(o.task, "data")
	}
}

// weightsFlag adds -weights.
func (o *options) weightsFlag(fs *flag.FlagSet) {
	fs.StringVar((*string)(&o.weights), "weights", "", "keep the weights in fewer bits: "+
		"bf16, int8 with a scale for every output, or int4 with one for every 32 inputs")
}

// tuningFlags adds the flags of a training of a model, whose network the folder gives. leaveOut names fields of the
// training that the task does not read.
func (o *options) tuningFlags(fs *program.FlagSet, leaveOut ...string) {
	o.modelFlags(fs, false)
	fs.Group("model", "the model", func(fs *flag.FlagSet) {
		fs.BoolVar(&o.full, "full", o.full, "tune all weights instead of adapters, and save a folder")
		folder.TemplateFlag(fs, &o.template)
	})
	reads := append(train.Fields(&o.config.Training, &o.config.Run, nil, nil).Without(leaveOut...).Names(),
		adapters()...)
	reads = append(reads, "block_size", "dropout")
	o.configFlags(fs, func(name string) bool {
		return slices.Contains(reads, name) && !slices.Contains(leaveOut, name)
	})
}

// configFlags adds the flags of the configuration that a training reads.
func (o *options) configFlags(fs *program.FlagSet, reads func(name string) bool) {
	var leaveOut []string
	config := program.Flags("", io.Discard)
	o.config.Flags(config.FlagSet)
	config.VisitAll(func(f *flag.Flag) {
		if name := f.Name; name == "log_interval" || !reads(name) {
			leaveOut = append(leaveOut, name)
		}
	})
	fs.Group("training", "", func(fs *flag.FlagSet) {
		fs.BoolVar(&o.resume, "resume", false, "continue the training in out_dir, with its settings")
	})
	fs.Group("training", "", o.config.Flags, leaveOut...)
}

// adapters lists the fields of adapters.
func adapters() []string {
	return []string{"lora_r", "lora_alpha", "lora_targets", "lora_scale", "lora_fused"}
}

// settle refuses flags that would have no effect on the task.
func (o *options) settle() error {
	o.regular = o.regular || o.given["eval_interval"] || o.given["patience"]
	switch {
	case o.data == "" && slices.Contains([]string{"eval", "choices", "tune", "dpo", "grpo", "train"}, o.task):
		return errors.Errorf("-data: got none, want the file of gpt2 %s; -help describes it", o.task)
	case o.task == "merge" && o.adapter == "":
		return errors.New("-adapter: got none to merge")
	case o.task == "export" && o.export == "":
		return errors.New("-out_dir: got none, want a folder, or a file whose name ends in .gguf")
	case o.task == "write" && o.prompt == "":
		return errors.New("-prompt: empty, want at least one character, such as a newline")
	case o.task == "train" && o.resume && (o.given["tokenizer"] || o.given["preset"]):
		return errors.New("-tokenizer and -preset: the checkpoint has both: give neither with -resume")
	}
	if o.task == "export" {
		if err := program.OneOf("-dtype", o.dtype, dtypes()...); err != nil {
			return err
		}
	}
	if o.task == "grpo" {
		if err := program.OneOf("-score", o.score, scoreNames()...); err != nil {
			return err
		}
	}
	for _, name := range adapters() {
		if o.full && o.given[name] {
			return errors.Errorf("-%s: not read with -full, which tunes all weights", name)
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
