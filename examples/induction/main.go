// Induction shows a circuit form: a transformer of two blocks learns texts that repeat themselves, and while its loss on
// what it has read before falls, some head of the second block begins to look at what followed the same token earlier,
// by what a head of the first block has told about the token before (Olsson et al., In-context learning and induction
// heads, 2022). Without these heads the ability is gone; without the block's others it is not.
//
//	go run ./examples/induction              # 20 seconds; a table, and induction.png
//	go run ./examples/induction -n_layer 1   # one block is not enough
package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/internal/file"
)

func main() { program.Main("induction", run) }

// options are a network, its training, and a file. BlockSize is the length of a text.
type options struct {
	gpt.Config
	picture string
}

// defaults returns a network in which the heads form in some 400 steps. With a tied head they do not in 2000: what a
// token is read as and what it is written as are one matrix then.
func defaults() (o options) {
	o.Config = gpt.Shakespeare()
	o.NLayer, o.NEmbd, o.BlockSize, o.VocabSize, o.BatchSize, o.Head = 2, 64, 64, 64, 32, "linear"
	o.LearningRate, o.MinLR, o.WeightDecay, o.MaxIters = 2e-3, 2e-4, 0, 1000
	return o
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := defaults()
	fs := program.Flags("induction", stderr)
	program.Group(fs, "The network and its training", o.Flags, "gradient_accumulation_steps", "optimizer", "eval_interval",
		"eval_iters", "log_interval", "out_dir", "always_save_checkpoint")
	program.Group(fs, "What is drawn", func(fs *flag.FlagSet) {
		fs.StringVar(&o.picture, "picture", "induction.png", "file for the picture")
	})
	if err := program.Parse(fs, args); err != nil {
		return o, err
	}
	if given := program.Given(fs); !given["lr_decay_iters"] {
		o.LRDecayIters = max(o.MaxIters, o.WarmupIters+1)
	}
	if err := program.Want(o.BlockSize >= 8, "block_size", o.BlockSize, "at least 8, two halves to compare"); err != nil {
		return o, err
	}
	return o, o.Validate()
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	r, err := train(ctx, o, stdout)
	if err != nil {
		return err
	}
	heads, err := r.look()
	if err != nil {
		return err
	}
	err = file.Replace(o.picture, func(w io.Writer) error { return draw(w, r.history, r.NHead) })
	if err != nil {
		return err
	}
	if err := r.table(stdout, heads); err != nil { // behind the picture, which exists even if nobody reads
		return err
	}
	_, err = fmt.Fprintf(stdout, "\nsaved %s\n", o.picture)
	return err
}
