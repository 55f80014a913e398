// Gpt2 works with a published model, a folder of Hugging Face's with a GPT-2, a LLaMA or a relative, or with the run of
// another program: it continues a text, measures the model on a text, tunes it, and compares it with published results.
//
//	go run ./examples/gpt2 -model DIR -prompt "Once upon a time"       # continues a text
//	go run ./examples/gpt2 -model DIR -eval FILE                       # loss, perplexity and bits per byte of a text
//	go run ./examples/gpt2 -model DIR -choices FILE.jsonl              # the share of questions that it answers rightly
//	go run ./examples/gpt2 -model FILE.gguf -prompt "…"                # decodes from a GGUF file where it is
//	go run ./examples/gpt2 -model DIR -weights int8 -prompt "…"        # weights in fewer bits; with -eval, the cost
//	go run ./examples/gpt2 -model DIR -tune FILE -lora_r 8 -out_dir D  # tunes adapters in PEFT's form; -full: all
//	go run ./examples/gpt2 -model DIR -dpo FILE.jsonl -out_dir D       # on pairs of answers; -grpo: on scored answers
//	go run ./examples/gpt2 -model DIR -adapter D -prompt "…"           # uses them; -merge merges and saves
//	go run ./examples/gpt2 -model DIR -export FILE.gguf -dtype Q8_0    # writes a GGUF file for other programs
//	go run ./examples/gpt2 -train FILE -tokenizer DIR                  # from scratch; train:8192 learns a tokenizer
//	go run ./examples/gpt2 -resume -out_dir D                          # continues any of the trainings, bit-identically
//	go run ./examples/gpt2 -check -model DIR                           # compares with published results
//
// Without -model it creates a small folder of the same form, with random weights, and prints that. A
// training saves its state in out_dir/checkpoints at every eval_interval, after at most ten minutes and on Ctrl-C, and
// writes metrics.jsonl and loss.png. With -patience it stops early and saves the weights of the lowest validation loss;
// -ema saves averaged weights beside the last ones, in out_dir/averaged.
package main

import (
	"context"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/verify/known"
)

func main() { program.Main("gpt2", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.resume {
		return resume(ctx, o, args, stdout, stderr)
	}
	if o.model == "" && o.task != "train" {
		if o.model, err = random(o.config.OutDir, stderr); err != nil {
			return err
		}
	}
	switch o.task {
	case "check":
		return check(ctx, o, known.Models(), stdout, stderr)
	case "tune", "train", "dpo", "grpo":
		return o.begin(ctx, resumed{}, stdout, stderr)
	case "export":
		return convert(ctx, o, stdout, stderr)
	case "merge":
		return merge(o, stdout, stderr)
	}
	m, tok, err := o.open()
	if err != nil {
		return err
	}
	switch o.task {
	case "eval":
		return evaluate(ctx, o, m, tok, stdout, stderr)
	case "choices":
		return choose(ctx, o, m, tok, stdout, stderr)
	}
	return write(ctx, o, m, tok, stdout, stderr)
}

// open returns the model, with its adapter in use if there is one.
func (o options) open() (*gpt.Model, text.Tokenizer, error) {
	m, tok, err := openAt(o.model, o.config.BlockSize)
	if err != nil {
		return m, tok, base.Folder().Advise(o.model, err)
	}
	m, err = o.adapted(m)
	return m, tok, err
}

// adapted returns the model with its adapter in use, if there is one.
func (o options) adapted(m *gpt.Model) (*gpt.Model, error) {
	if o.adapter == "" {
		return m, nil
	}
	a, err := gpt.OpenAdapter(o.adapter)
	if err != nil {
		return nil, err
	}
	if a.Replaces() {
		return m, m.MergeAdapter(a)
	}
	if m, err = m.Adapted(1, a); err != nil {
		return nil, err
	}
	return m, m.Use(a)
}
