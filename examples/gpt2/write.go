package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/folder"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// writeFlags adds the flags of the command write.
func (o *options) writeFlags(fs *program.FlagSet) {
	o.modelFlags(fs, true)
	fs.Group("text", "the text, and how it is drawn", func(fs *flag.FlagSet) {
		fs.StringVar(&o.prompt, "prompt", "Once upon a time", "text to continue")
		fs.IntVar(&o.tokens, "tokens", 200, "number of tokens to write")
		o.blockFlag(fs)
		o.weightsFlag(fs)
		o.sampling.Flags(fs)
		fs.Uint64Var(&o.config.Seed, "seed", o.config.Seed, "seed of every random choice")
	})
}

// write prints the model's continuation, token by token as they are drawn, up to the end of a text, and its speed.
func write(ctx context.Context, o options, m *gpt.Model, tok text.Tokenizer, stdout, stderr io.Writer) error {
	cp, err := folder.Kind("").Load(o.model, stderr)
	if err != nil {
		return err
	}
	defer cp.Close()
	template, err := published.LoadTemplate(cp)
	if err != nil {
		return err
	}
	prompt, err := folder.Prompt(tok, template, o.prompt)
	if err != nil {
		return err
	}
	if o.weights != "" {
		program.Doing(stderr, "packing the weights")
		if m, err = m.Packed(o.weights); err != nil {
			return err
		}
	}
	d, err := gpt.NewDecoder(m, 1)
	if err != nil {
		return err
	}
	stop, err := folder.Ends(cp, tok)
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, o.prompt)
	start, drawn := time.Now(), 0
	var first, rest time.Duration
	sampler := o.sampling.Sampler(o.config.Seed)
	timed := func(yield func(int, error) bool) {
		for token, err := range d.Generate(ctx, [][]int{prompt}, o.tokens, []*search.Sampler{sampler}) {
			if drawn++; drawn == 1 {
				first = time.Since(start)
			}
			rest = time.Since(start) - first
			if !yield(token.ID, err) {
				return
			}
		}
	}
	for piece, err := range text.Stream(tok, text.Until(timed, stop...)) {
		if err != nil {
			return program.Cause(ctx, err)
		}
		fmt.Fprint(stdout, piece)
	}
	_, err = fmt.Fprintf(stdout, "\n\n%d tokens, %.1f tok/s; the first came after %.0f ms, of a prompt of %d\n",
		drawn, float64(max(0, drawn-1))/max(rest.Seconds(), 1e-9), first.Seconds()*1e3, len(prompt))
	return err
}
