// Gpt2 takes a model as others publish it, a folder of Hugging Face's with a GPT-2 or a LLaMA in it: lets it write,
// measures it on a text, tunes it, and asks it all that is known of its answers.
//
//	go run ./examples/gpt2 -model DIR -prompt "Once upon a time"       # goes on with a text
//	go run ./examples/gpt2 -model DIR -eval FILE                       # loss, perplexity and bits per byte of a text
//	go run ./examples/gpt2 -model DIR -weights int8 -prompt "…"        # weights in fewer bits; with -eval, what it costs
//	go run ./examples/gpt2 -model DIR -tune FILE -lora_r 8 -out_dir D  # tunes adapters, saved as PEFT has them; -full: all
//	go run ./examples/gpt2 -model DIR -adapter D -prompt "…"           # uses them; -merge saves a folder with them inside
//	go run ./examples/gpt2 -train FILE -tokenizer DIR                  # from scratch; -tokenizer train:8192 learns one
//	go run ./examples/gpt2 -check -model DIR                           # the published answers, one by one
//
// Without -model it makes a small folder of the same form, with random weights, and says so. Ctrl-C saves what has been
// trained until then.
package main

import (
	"context"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

func main() { program.Main("gpt2", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.task == "train" {
		return scratch(ctx, o, stdout, stderr)
	}
	if o.model == "" {
		if o.model, err = random(o.config.OutDir, stderr); err != nil {
			return err
		}
	}
	switch o.task {
	case "check":
		return check(ctx, o, published(), stdout, stderr)
	case "tune":
		return tune(ctx, o, stdout, stderr)
	}
	m, tok, err := o.open()
	if err != nil {
		return err
	}
	base.NoteTokens(tok, stderr)
	switch o.task {
	case "eval":
		return evaluate(ctx, o, m, tok, stdout, stderr)
	case "merge":
		return merge(o, m, tok, stdout)
	}
	return write(ctx, o, m, tok, stdout, stderr)
}

// open returns the model, with its adapter in use where there is one.
func (o options) open() (*gpt.Model, text.Tokenizer, error) {
	m, tok, err := openAt(o.model, o.config.BlockSize)
	if err != nil || o.adapter == "" {
		return m, tok, base.Folder().Advise(o.model, err)
	}
	a, err := gpt.OpenAdapter(o.adapter)
	if err != nil {
		return nil, nil, err
	}
	if m, err = m.Adapted(1, a); err != nil {
		return nil, nil, err
	}
	return m, tok, m.Use(a)
}
