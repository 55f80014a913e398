package main

import (
	"flag"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// options holds the values of the flags.
type options struct {
	task                    string // write, eval, choices, tune, dpo, grpo, merge, export, train or check
	model, adapter, prompt  string
	eval, choices           string // texts to measure the model on
	tune, train             string // texts to train on
	dpo, grpo               string // preferences to tune on
	beta, clip              float64
	group, length, updates  int
	score                   string
	tokenizer, data, preset string
	template                string // of conversations to tune on: chatml, or a file
	check, full, merge      bool
	resume                  bool
	regular                 bool   // a training evaluates and saves at every eval_interval
	export, dtype           string // the file or folder to write, and the type of its matrices
	stride, tokens          int
	sampling                base.Sampling
	weights                 graph.Packing // empty means float32
	config                  gpt.Config    // of training; block_size, seed and out_dir apply to all tasks
	given                   map[string]bool
}

// flags returns the flags of the program, with the settings in o as defaults.
func (o *options) flags(stderr io.Writer) *flag.FlagSet {
	fs := program.Flags("gpt2", stderr)
	program.Group(fs, "The model, and what to do with it", func(fs *flag.FlagSet) {
		base.ModelFlags(fs, &o.model, &o.adapter)
		fs.StringVar(&o.prompt, "prompt", "Once upon a time",
			"text to continue; this is the task if no other is given")
		fs.StringVar(&o.eval, "eval", "", "text to measure the model on")
		fs.StringVar(&o.choices, "choices", "", "JSON lines of multiple-choice questions, of which the model takes "+
			"the likeliest choice: {\"prompt\": \"…\", \"choices\": [\"…\", \"…\"], \"answer\": 0}")
		fs.StringVar(&o.tune, "tune", o.tune,
			"text to tune adapters on, or JSON lines of prompts and completions, or of messages")
		fs.StringVar(&o.dpo, "dpo", o.dpo, "JSON lines of pairs of answers to tune adapters on, by direct preference "+
			"optimization: {\"prompt\": \"…\", \"chosen\": \"…\", \"rejected\": \"…\"}")
		fs.StringVar(&o.grpo, "grpo", o.grpo, "JSON lines of prompts with right answers to tune adapters on, by group "+
			"relative policy optimization of the model's own answers: {\"prompt\": \"…\", \"answer\": \"…\"}")
		fs.BoolVar(&o.full, "full", o.full, "tune all weights instead, and save a folder")
		fs.BoolVar(&o.merge, "merge", false,
			"save the model with its adapter merged to out_dir, as a folder without adapters")
		fs.StringVar(&o.export, "export", "", "save the model, with its adapter merged, as a GGUF file, "+
			"whose name ends in .gguf, or as a folder in Hugging Face's form")
		fs.StringVar(&o.dtype, "dtype", safetensors.F32, "-export: type of the matrices: F32, F16, BF16, Q8_0 or "+
			"Q4_0; of a folder F32 or BF16")
		fs.StringVar(&o.train, "train", o.train, "text to train a model on from scratch")
		fs.BoolVar(&o.resume, "resume", false, "continue the training in out_dir, with its settings")
		base.TemplateFlag(fs, &o.template)
		fs.StringVar(&o.tokenizer, "tokenizer", "train:1024",
			"of -train: a folder that has one, or train:N to learn one of N tokens from the text")
		base.PresetFlag(fs, &o.preset)
		fs.BoolVar(&o.check, "check", false, "compare with the published results of the model, one by one")
		fs.StringVar(&o.data, "data", "",
			"text of -check; by default tinyshakespeare, which the results are for, downloaded once")
	})
	program.Group(fs, "Measuring and sampling", func(fs *flag.FlagSet) {
		fs.IntVar(&o.stride, "stride", 0, "tokens from one window of -eval to the next; "+
			"fewer than block_size slide; 0 means block_size: windows side by side")
		fs.StringVar((*string)(&o.weights), "weights", "", "keep the weights in fewer bits: "+
			"bf16, int8 with a scale for every output, or int4 with one for every 32 inputs; "+
			"-eval prints both losses")
		fs.IntVar(&o.tokens, "tokens", 200, "length of a sample")
		o.sampling.Flags(fs)
	})
	program.Group(fs, "Preferences", func(fs *flag.FlagSet) {
		fs.Float64Var(&o.beta, "beta", o.beta, "-dpo: how closely the model stays to the one before; by default 0.1; "+
			"-grpo: weight of the penalty for leaving it; 0 is none; by default 0.04")
		fs.IntVar(&o.group, "group", o.group, "-grpo: number of answers to a prompt")
		fs.IntVar(&o.length, "length", o.length, "-grpo: largest number of tokens of an answer")
		fs.StringVar(&o.score, "score", o.score, "-grpo: when an answer is right: equal, or contains the right one")
		fs.IntVar(&o.updates, "updates", o.updates, "-grpo: number of steps with the same answers")
		fs.Float64Var(&o.clip, "clip", o.clip, "-grpo: limit of the change of a token's probability in these steps")
	})
	program.Group(fs, "Training by -tune, whose defaults these are, by -full, and by -train, "+
		"which also has the network",
		o.config.Flags, "log_interval")
	return fs
}

// parse reads the flags, with the recipe of the task as defaults.
func parse(args []string, stderr io.Writer) (o options, err error) {
	o.config, o.sampling = gpt.LoRATuning(), base.SamplingOfNanoGPT()
	o.config.OutDir = "out/gpt2"
	o.group, o.length, o.updates, o.clip, o.score = 8, 64, 1, 0.2, "equal"
	if err := program.Parse(o.flags(stderr), args); err != nil || o.resume { // the checkpoint has the settings
		return o, err
	}
	switch {
	case o.train != "":
		o.config = small()
		if err := base.Preset(o.preset, &o.config); err != nil {
			return o, err
		}
		o.config.VocabSize = 0 // a preset has that of its tokenizer, and this one may be another
	case o.full:
		o.config = gpt.FullTuning()
	default:
		o.config = gpt.LoRATuning()
	}
	switch {
	case o.dpo != "":
		o.beta = 0.1
		o.config.BatchSize, o.config.GradientAccumulationSteps = 2, 16
	case o.grpo != "":
		o.beta = 0.04
		o.config.BatchSize, o.config.GradientAccumulationSteps = 8, 4
	}
	o.config.OutDir, o.sampling = "out/gpt2", base.SamplingOfNanoGPT()
	fs := o.flags(io.Discard)
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	o.given = program.Given(fs)
	return o, o.settle()
}
