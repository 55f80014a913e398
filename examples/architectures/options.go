package main

import (
	"cmp"
	"flag"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// options holds the flags that are not the Config's.
type options struct {
	data           string
	only, headline []string // names of rows, or of parts
	seeds, rounds  int
	contexts       []int // ascending
	asJSON         bool
	attention      []string // options of attentions that are given as flags
}

// headline lists the rows that need more than a single seed.
const headline = "baseline,position=rope,attention=linear,attention=mla,block=post,block=elman"

func parse(args []string, stderr io.Writer) (c gpt.Config, o options, err error) {
	c = gpt.Shakespeare()
	c.MaxIters = 1000
	fs := program.Flags("architectures", stderr)
	program.Group(fs, "The baseline and its training", c.Flags,
		"eval_interval", "eval_iters", "log_interval", "out_dir", "vocab_size", "ema")
	var only, heads, contexts string
	var quick bool
	program.Group(fs, "The rows and the tables", func(fs *flag.FlagSet) {
		fs.StringVar(&o.data, "data", "", "text file to train on; by default tinyshakespeare, downloaded once")
		fs.StringVar(&only, "only", "",
			`rows: "rope", "head=linear", or a part such as "attention"; by default all; always with the baseline`)
		fs.StringVar(&heads, "headline", headline, "rows that are trained with several seeds")
		fs.IntVar(&o.seeds, "seeds", 3, "seeds of the headline rows")
		fs.IntVar(&o.rounds, "rounds", 10, "turns in which all rows take steps, since the machine's speed drifts")
		fs.StringVar(&contexts, "contexts", "64,256,1024,2048",
			"context lengths of the second table; empty omits the table")
		fs.BoolVar(&o.asJSON, "json", false, "print data instead of tables")
		fs.BoolVar(&quick, "quick", false, "a tiny model for a few steps")
	})
	if err = program.Parse(fs, args); err != nil {
		return c, o, err
	}
	if quick {
		c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize, c.MaxIters = 2, 2, 16, 16, 4, 6
		c.Options.Offer("window", 4)
		o.seeds, o.rounds, contexts = 2, 2, "16,64"
		if err = program.Parse(fs, args); err != nil {
			return c, o, err
		}
	}
	given := program.Given(fs)
	for _, name := range c.Stack.OptionFields(parts.Library()).Names() {
		c.Options.Offer(name, c.Options.Get(name)) // most rows ignore it
		if given[name] {
			o.attention = append(o.attention, name)
		}
	}
	if !given["lr_decay_iters"] {
		c.LRDecayIters = max(c.MaxIters, 1)
	}
	if !given["warmup_iters"] {
		c.WarmupIters = min(c.WarmupIters, c.LRDecayIters/10)
	}
	o.only, o.headline = words(only), words(heads)
	for _, w := range words(contexts) {
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 {
			return c, o, errors.Errorf("contexts: got %q, want a whole number, 1 or more", w)
		}
		o.contexts = append(o.contexts, n)
	}
	slices.Sort(o.contexts)
	return c, o, cmp.Or(
		program.Want(o.seeds >= 1, "seeds", o.seeds, "1 or more"),
		program.Want(o.rounds >= 1, "rounds", o.rounds, "1 or more"),
		program.Want(c.MaxIters >= 2, "max_iters", c.MaxIters, "2 or more: the first step is not timed"),
	)
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
