package main

import (
	"cmp"
	"flag"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// options holds the flags that are not the Config's.
type options struct {
	pairing
	was              *pairing // of the run to resume; nil if unknown
	translate, model string
	preset           string
	resume           bool
	beams, tests     int
	minutes, penalty float64
	logInterval      int             // 0 means about fifty lines
	given            map[string]bool // names of flags
}

// recipe returns a training that learns the numbers in some minutes on two cores.
func recipe() seq2seq.Config {
	return seq2seq.Config{
		Stack: parts.Stack{NLayer: 2, NHead: 4, NEmbd: 128, Bias: true},
		Training: train.Training{
			BatchSize: 64, GradientAccumulationSteps: 1, LearningRate: 1e-3, DecayLR: true, WarmupIters: 100,
			MinLR:       1e-5,
			WeightDecay: 0.01, Beta1: 0.9, Beta2: 0.98, GradClip: 1, Seed: 1, Kernels: true,
		},
		Run: train.Run{MaxIters: 1500, EvalInterval: 500, EvalIters: 1, LogInterval: 50, OutDir: "out/translate"},
	}
}

// parse reads the flags into c and the texts.
func parse(c seq2seq.Config, texts pairing, args []string, stderr io.Writer) (seq2seq.Config, options, error) {
	o := options{pairing: texts}
	fs := program.Flags("translate", stderr)
	fs.Group("network", "the network, its training and the run", c.Flags, "eval_iters")
	fs.Group("texts", "the texts, and what to do", func(fs *flag.FlagSet) {
		o.pairing.flags(fs)
		base.PresetFlag(fs, &o.preset)
		fs.BoolVar(&o.resume, "resume", false, "continue from the newest checkpoint in out_dir, with its settings")
		fs.Float64Var(&o.minutes, "minutes", 0, "minutes after which training stops; 0 means no limit of time")
		fs.IntVar(&o.tests, "tests", 5000, "number of held-out texts to translate at the end")
	})
	fs.Group("translating", "translating, after the training or alone", func(fs *flag.FlagSet) {
		fs.StringVar(&o.translate, "translate", "",
			"translate this, without training")
		fs.StringVar(&o.model, "model", "",
			"directory of the run whose newest checkpoint translates; by default out_dir")
		fs.IntVar(&o.beams, "beams", 4, "hypotheses that a beam search keeps")
		fs.Float64Var(&o.penalty, "length_penalty", 0,
			"α of a beam search that divides ln p by ((5 + length)/6)^α; 0 means no penalty")
	})
	fs.LogInterval()
	fs.Often("preset data below n_layer n_head n_embd block position norm mlp batch_size max_iters learning_rate " +
		"dropout " +
		"eval_interval minutes seed threads out_dir resume translate model beams length_penalty")
	if err := fs.Parse(args); err != nil {
		return c, o, err
	}
	if o.given = fs.Given(); o.preset != "" { // its network: the recipe of the training is of translations
		p, err := gpt.PresetOf(o.preset)
		if err != nil {
			return c, o, err
		}
		if c.Stack = p.Config.Stack; c.Attention == "causal" {
			c.Attention = "" // full, and causal in the decoder
		}
		if err := fs.Parse(args); err != nil { // again, because flags override the preset
			return c, o, err
		}
	}
	if o.model != "" && o.translate == "" {
		return c, o, errors.New("-model: read with -translate alone; give both")
	}
	if o.given["log_interval"] {
		o.logInterval = c.LogInterval
	}
	return c, o, cmp.Or(
		o.pairing.check(),
		program.Want(o.beams >= 1, "-beams", o.beams, "1 or more"),
		program.Want(o.tests >= 1, "-tests", o.tests, "1 or more"),
		base.CheckTraining(c.Training, c.Run),
		program.Want(0 <= o.penalty && o.penalty < 10, "-length_penalty", o.penalty, "a number, 0 ≤ x < 10"),
		program.Want(0 <= o.minutes, "-minutes", o.minutes, "0 or more"),
	)
}

// rank returns the rank of the beam search.
func (o options) rank() search.Rank {
	if o.penalty == 0 {
		return nil
	}
	return search.LengthPenalty(o.penalty)
}
