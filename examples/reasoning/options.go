package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

type options struct {
	objective                                 string
	bits, batch, steps, rounds, epochs, tests int
	layers, heads, width, threads             int
	slip, learningRate, rewardRate, clip      float64
	seed                                      uint64
	outDir, preset                            string
	network                                   parts.Stack // of -preset, in the sizes of the flags
	resume                                    bool
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	fs := program.Flags("reasoning", stderr)
	fs.Group("task", "the task", func(fs *flag.FlagSet) {
		fs.IntVar(&o.bits, "bits", 8, "bits of a question, and thoughts")
		fs.IntVar(&o.tests, "tests", 2048, "questions for measuring the accuracy")
		fs.Uint64Var(&o.seed, "seed", 1, "seed of all random choices")
		fs.IntVar(&o.threads, "threads", 0, "threads of the kernels; 0 means one per processor")
		fs.StringVar(&o.outDir, "out_dir", "",
			"directory for checkpoints, one a minute and at the end of a training; empty means none")
		fs.BoolVar(&o.resume, "resume", false, "continue from the checkpoints in out_dir, with the same settings")
	})
	fs.Group("network", "the network", func(fs *flag.FlagSet) {
		base.PresetFlag(fs, &o.preset)
		fs.IntVar(&o.layers, "n_layer", 2, "transformer blocks")
		fs.IntVar(&o.heads, "n_head", 4, "heads of attention")
		fs.IntVar(&o.width, "n_embd", 64, "features of a token")
	})
	fs.Group("teaching", "teaching", func(fs *flag.FlagSet) {
		fs.Float64Var(&o.slip, "slip", 0.5,
			"probability that the teacher forgets a one right after another")
		fs.IntVar(&o.steps, "steps", 600, "steps of teaching")
		fs.IntVar(&o.batch, "batch_size", 128, "questions in a batch")
		fs.Float64Var(&o.learningRate, "learning_rate", 1e-3, "learning rate of teaching")
	})
	fs.Group("rewards", "rewards", func(fs *flag.FlagSet) {
		fs.StringVar(&o.objective, "objective", "all",
			"objective of the rewards: reinforce, reinforce_baseline, ppo, all")
		fs.IntVar(&o.rounds, "rounds", 200, "rounds of rewards, each with a batch of answers")
		fs.Float64Var(&o.rewardRate, "reward_rate", 2e-4, "learning rate of rewards, shared by the epochs")
		fs.IntVar(&o.epochs, "epochs", 4, "steps of ppo on one batch of answers")
		fs.Float64Var(&o.clip, "clip", 0.2, "ε of ppo")
	})
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.preset != "" {
		p, err := gpt.PresetOf(o.preset)
		if err != nil {
			return o, err
		}
		o.network = p.Config.Stack
		given := fs.Given()
		for name, size := range map[string][2]*int{"n_layer": {&o.layers, &o.network.NLayer},
			"n_head": {&o.heads, &o.network.NHead}, "n_embd": {&o.width, &o.network.NEmbd}} {
			if !given[name] {
				*size[0] = *size[1]
			}
		}
	}
	return o, o.validate()
}

func (o options) validate() error {
	if o.resume && o.outDir == "" {
		return errors.New("-resume: want -out_dir, the directory of the run")
	}
	return cmp.Or(
		program.Want(o.bits >= 1, "-bits", o.bits, "1 or more"),
		program.Want(o.steps >= 1, "-steps", o.steps, "1 or more"),
		program.Want(o.rounds >= quarters, "-rounds", o.rounds, fmt.Sprint(quarters, " or more")),
		program.Want(o.epochs >= 1, "-epochs", o.epochs, "1 or more"),
		program.Want(o.batch >= 1, "-batch_size", o.batch, "1 or more"),
		program.Want(o.tests >= 1, "-tests", o.tests, "1 or more"),
		program.Want(o.threads >= 0, "-threads", o.threads, "0 or more"),
		program.Want(o.learningRate > 0 && o.learningRate <= 1, "-learning_rate", o.learningRate, "a number in (0, 1]"),
		program.Want(o.rewardRate > 0 && o.rewardRate <= 1, "-reward_rate", o.rewardRate, "a number in (0, 1]"),
		program.Want(o.slip >= 0 && o.slip <= 1, "-slip", o.slip, "a probability"),
		program.Want(o.clip > 0 && o.clip < 1, "-clip", o.clip, "a number in (0, 1)"),
		program.OneOf("-objective", o.objective, append(objectives(), "all")...),
	)
}

func objectives() []string { return []string{"reinforce", "reinforce_baseline", "ppo"} }

func (o options) objectives() []string {
	if o.objective == "all" {
		return objectives()
	}
	return []string{o.objective}
}

// config returns the network for texts of the given number of tokens.
func (o options) config(tokens int) gpt.Config {
	c := gpt.Shakespeare()
	if o.preset != "" {
		c.Stack = o.network
	}
	c.BlockSize, c.VocabSize, c.Seed = tokens, vocabulary, o.seed
	c.NLayer, c.NHead, c.NEmbd = o.layers, o.heads, o.width
	c.Threads, c.WeightDecay = o.threads, 0
	return c
}
