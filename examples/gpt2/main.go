// Gpt2 works with a published model, a folder of Hugging Face's with a GPT-2, a LLaMA or a relative, or with the run of
// another program: it continues a text, measures the model on a text, tunes it, and compares it with published results.
//
//	go run ./examples/gpt2 write -model DIR -prompt "Once upon a time"   # continues a text
//	go run ./examples/gpt2 eval -model DIR -data FILE                    # loss, perplexity, bits per byte of a text
//	go run ./examples/gpt2 choices -model DIR -data FILE.jsonl           # the share of questions answered rightly
//	go run ./examples/gpt2 write -model FILE.gguf -prompt "…"            # decodes from a GGUF file where it is
//	go run ./examples/gpt2 write -model DIR -weights int8 -prompt "…"    # weights in fewer bits; eval has the cost
//	go run ./examples/gpt2 tune -model DIR -data FILE -out_dir D         # tunes adapters in PEFT's form; -full: all
//	go run ./examples/gpt2 dpo -model DIR -data FILE.jsonl -out_dir D    # on pairs of answers; grpo: on scored ones
//	go run ./examples/gpt2 write -model DIR -adapter D -prompt "…"       # uses them; merge merges and saves
//	go run ./examples/gpt2 export -model DIR -out_dir FILE.gguf -dtype Q8_0   # writes a file for other programs
//	go run ./examples/gpt2 train -data FILE -tokenizer DIR               # from scratch; train:8192 learns a tokenizer
//	go run ./examples/gpt2 resume -out_dir D                             # continues a training, bit-identically
//	go run ./examples/gpt2 check -model DIR                              # compares with published results
//
// Without -model it creates a small folder of the same form, with random weights, and prints that. A
// training saves its state in out_dir/checkpoints at every eval_interval, after at most ten minutes and on Ctrl-C, and
// writes metrics.jsonl and loss.png. With -patience it stops early and saves the weights of the lowest validation loss;
// -ema saves averaged weights beside the last ones, in out_dir/averaged.
package main

import (
	"context"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/folder"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/peft"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

func main() { program.Main("gpt2", run) }

// task is a command of the program.
type task struct {
	name, about, old string
	flags            func(*options, *program.FlagSet)
	run              func(ctx context.Context, o options, stdout, stderr io.Writer) error
}

// tasks lists the commands.
func tasks() []task {
	return []task{
		{"write", "continues a text", "prompt", (*options).writeFlags, opened(write)},
		{"eval", "the loss of a text, its perplexity and bits per byte", "eval", (*options).evalFlags,
			opened(evaluate)},
		{"choices", "the share of multiple-choice questions answered rightly", "choices", (*options).choicesFlags,
			opened(choose)},
		{"check", "compares a model with its published results", "check", (*options).checkFlags, checkKnown},
		{"tune", "tunes adapters, or all weights, on a text", "tune", (*options).tuneFlags, begin},
		{"dpo", "tunes on pairs of answers", "dpo", (*options).dpoFlags, begin},
		{"grpo", "tunes on the model's own answers, which are scored", "grpo", (*options).grpoFlags, begin},
		{"merge", "saves a model with its adapter merged", "merge", (*options).mergeFlags, merge},
		{"export", "saves a model as a GGUF file or a folder", "export", (*options).exportFlags, convert},
		{"train", "trains a model from scratch", "train", (*options).trainFlags, begin},
		{"resume", "continues a training, of any of these commands", "resume", (*options).resumeFlags, nil},
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var list []program.Command
	for _, t := range tasks() {
		list = append(list, program.Command{Name: t.name, About: t.about, Old: t.old, Run: t.start})
	}
	return program.Commands("gpt2", list)(ctx, args, stdout, stderr)
}

// start reads the flags and runs the command.
func (t task) start(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := t.parse(args, stderr)
	if err != nil {
		return err
	}
	if o.resume || t.run == nil {
		return resume(ctx, o, args, stdout, stderr)
	}
	if o.model == "" && t.name != "train" {
		if o.model, err = random(o.config.OutDir, stderr); err != nil {
			return err
		}
	}
	return t.run(ctx, o, stdout, stderr)
}

// opened returns a command that begins by opening the model, with its adapter in use if there is one.
func opened(
	run func(context.Context, options, *gpt.Model, text.Tokenizer, io.Writer, io.Writer) error,
) func(context.Context, options, io.Writer, io.Writer) error {
	return func(ctx context.Context, o options, stdout, stderr io.Writer) error {
		m, tok, err := o.open()
		if err != nil {
			return err
		}
		return run(ctx, o, m, tok, stdout, stderr)
	}
}

// open returns the model, with its adapter in use if there is one.
func (o options) open() (*gpt.Model, text.Tokenizer, error) {
	m, tok, err := openAt(o.model, o.config.BlockSize)
	if err != nil {
		return m, tok, folder.Kind("").Advise(o.model, err)
	}
	m, err = o.adapted(m)
	return m, tok, err
}

// adapted returns the model with its adapter in use, if there is one.
func (o options) adapted(m *gpt.Model) (*gpt.Model, error) {
	if o.adapter == "" {
		return m, nil
	}
	a, err := peft.Open(o.adapter)
	if err != nil {
		return nil, err
	}
	if a.Replaces() {
		return m, peft.Merge(m, a)
	}
	if m, err = peft.Adapted(m, 1, a); err != nil {
		return nil, err
	}
	return m, m.Use(a)
}
