// Induction shows how a circuit forms: a transformer of two blocks learns texts that repeat themselves. While its loss
// on the repetition falls, a head of the second block begins to attend to the token that followed the same token
// earlier; it uses information about the previous token from a head of the first block (Olsson et al., In-context
// learning and induction heads, 2022). Without these heads the ability is lost; without the block's others it is not.
//
//	go run ./examples/induction              # a table and induction.png, in 20 seconds
//	go run ./examples/induction -n_layer 1   # one block is not enough
//	go run ./examples/induction -out_dir D   # saves checkpoints, from which -resume continues
//
// Every text is drawn anew, so the loss of a step is already one of unseen texts: there is no validation split, and
// with it neither -patience nor -ema. The flags begin at the sizes in which the heads form, so there is no -preset.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

func main() { program.Main("induction", run) }

// options holds a network, its training, and a file. BlockSize is the length of a text.
type options struct {
	gpt.Config
	picture, preset string
	resume          bool
}

// defaults returns a network in which the heads form in about 400 steps. With a tied head they do not form in 2000,
// because a token is then read and written by the same matrix.
func defaults() (o options) {
	o.Config = gpt.Shakespeare()
	o.NLayer, o.NEmbd, o.BlockSize, o.VocabSize, o.BatchSize, o.Head = 2, 64, 64, 64, 32, "linear"
	o.LearningRate, o.MinLR, o.WeightDecay, o.MaxIters, o.OutDir = 2e-3, 2e-4, 0, 1000, ""
	return o
}

// parse reads the flags over the settings in o.
func parse(o options, args []string, stderr io.Writer) (options, error) {
	fs := program.Flags("induction", stderr)
	fs.Group("training", "the network and its training", o.Flags, "gradient_accumulation_steps", "optimizer",
		"muon_momentum", "muon_steps", "muon_scale", "precondition_frequency", "shampoo_beta", "max_precond_dim",
		"eval_interval", "eval_iters", "log_interval", "ema", "patience", "carry", "router_bias_update_rate")
	fs.Group("picture", "the picture", func(fs *flag.FlagSet) {
		base.PresetFlag(fs, &o.preset)
		fs.StringVar(&o.picture, "picture", "induction.png", "file for the picture")
		fs.BoolVar(&o.resume, "resume", false, "continue from the newest checkpoint in out_dir, with its settings")
	})
	fs.Lookup("out_dir").Usage = "directory for checkpoints, one a minute and at the end; empty means none"
	fs.Often("preset n_layer n_head n_embd block_size vocab_size attention position norm mlp head batch_size " +
		"max_iters " +
		"learning_rate seed threads out_dir resume picture")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if err := base.ApplyPreset(fs, o.preset, &o.Config, func(c *gpt.Config) {
		d := defaults().Config
		c.VocabSize, c.OutDir, c.MaxIters, c.GradientAccumulationSteps = d.VocabSize, d.OutDir, d.MaxIters, 1
	}); err != nil {
		return o, err
	}
	if given := fs.Given(); !given["lr_decay_iters"] && !o.resume {
		o.LRDecayIters = max(o.MaxIters, o.WarmupIters+1)
	}
	if o.resume && o.OutDir == "" {
		return o, errors.New("-resume: want -out_dir, the directory of the run")
	}
	err := program.Want(o.BlockSize >= 8, "block_size", o.BlockSize, "at least 8, two halves to compare")
	if err != nil {
		return o, err
	}
	return o, o.Validate()
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(defaults(), args, stderr)
	if err != nil {
		return err
	}
	r, err := begin(ctx, o, args, stdout, stderr)
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
	// The table comes last: the picture exists even if the output is not read.
	if err := r.table(stdout, heads); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "\nsaved %s\n", o.picture)
	return err
}
