package main

import (
	"flag"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// options are what the flags say.
type options struct {
	task                    string // write, eval, tune, merge, train or check
	model, adapter, prompt  string
	eval, tune, train       string // texts
	tokenizer, data         string
	check, full, merge      bool
	stride, tokens, topK    int
	temperature, topP, minP float64
	weights                 graph.Packing // empty is float32
	config                  gpt.Config    // of training; its block_size, seed and out_dir are for all
	given                   map[string]bool
}

// flags returns those of the program over the settings that are in o.
func (o *options) flags(stderr io.Writer) *flag.FlagSet {
	fs := program.Flags("gpt2", stderr)
	program.Group(fs, "The model, and what to do with it", func(fs *flag.FlagSet) {
		fs.StringVar(&o.model, "model", "", "folder as Hugging Face has them; by default a small one of random weights, made once")
		fs.StringVar(&o.adapter, "adapter", "", "folder of adapters as PEFT has them, to use with the model")
		fs.StringVar(&o.prompt, "prompt", "Once upon a time", "text to go on with, which is what it does if nothing else is asked for")
		fs.StringVar(&o.eval, "eval", "", "text to measure the model on")
		fs.StringVar(&o.tune, "tune", "", "text to tune adapters on, or JSON lines of prompts and completions, or of messages")
		fs.BoolVar(&o.full, "full", false, "tune all weights instead, and save a folder")
		fs.BoolVar(&o.merge, "merge", false, "save the model with its adapter inside to out_dir, as a folder without adapters")
		fs.StringVar(&o.train, "train", "", "text to train a model on from scratch")
		fs.StringVar(&o.tokenizer, "tokenizer", "train:1024", "of -train: a folder that has one, or train:N to learn one of N tokens from the text")
		fs.BoolVar(&o.check, "check", false, "compare with what is published of the model, answer by answer")
		fs.StringVar(&o.data, "data", "", "text of -check; by default tinyshakespeare, downloaded once, of which the answers are")
	})
	program.Group(fs, "Measuring and sampling", func(fs *flag.FlagSet) {
		fs.IntVar(&o.stride, "stride", 0, "tokens from one window of -eval to the next; fewer than block_size slide, 0 is block_size: windows side by side")
		fs.StringVar((*string)(&o.weights), "weights", "", "keep the weights in fewer bits: bf16, or int8 with a scale for every output; -eval tells both")
		fs.IntVar(&o.tokens, "tokens", 200, "length of a sample")
		fs.Float64Var(&o.temperature, "temperature", 0.8, "of sampling; 0 takes the likeliest")
		fs.IntVar(&o.topK, "top_k", 200, "number of likeliest tokens to sample among; 0 is all")
		fs.Float64Var(&o.topP, "top_p", 1, "sample among the likeliest tokens of this probability together")
		fs.Float64Var(&o.minP, "min_p", 0, "sample among tokens at least this times as likely as the likeliest")
	})
	program.Group(fs, "Training by -tune, whose defaults these are, by -full and by -train, whose network it says as well", o.config.Flags,
		"eval_interval", "eval_iters", "log_interval")
	return fs
}

// parse reads the flags over the recipe of what they ask for.
func parse(args []string, stderr io.Writer) (o options, err error) {
	o.config = gpt.LoRATuning()
	o.config.OutDir = "out/gpt2"
	if err := program.Parse(o.flags(stderr), args); err != nil {
		return o, err
	}
	switch {
	case o.train != "":
		o.config = small()
	case o.full:
		o.config = gpt.FullTuning()
	default:
		o.config = gpt.LoRATuning()
	}
	o.config.OutDir = "out/gpt2"
	fs := o.flags(io.Discard)
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	o.given = program.Given(fs)
	return o, o.settle()
}
