package seq2seq

import (
	"flag"
	"strings"

	"github.com/pkg/errors"
)

// Config says which network to build and how to train it. Its JSON keys and its flags are the names of gpt.Config where
// they mean the same. A zero in the fields of the second group means the usual value, which Resolved fills in.
type Config struct {
	// The network.
	SourceSize  int     `json:"source_size"`  // S, the longest source in tokens
	TargetSize  int     `json:"target_size"`  // T, the longest target in tokens, its end included
	SourceVocab int     `json:"source_vocab"` // 0 is "from the pairs", to be set before a network is built
	TargetVocab int     `json:"target_vocab"`
	NLayer      int     `json:"n_layer"` // blocks of the encoder, and as many of the decoder
	NHead       int     `json:"n_head"`
	NEmbd       int     `json:"n_embd"`
	Dropout     float64 `json:"dropout"`
	Bias        bool    `json:"bias"`

	// The network, where zero means the usual.
	QKSize     int     `json:"qk_size"`    // dρ of one head; usually d/H
	VSize      int     `json:"v_size"`     // dh of one head; usually d/H
	NInner     int     `json:"n_inner"`    // usually 4d
	Activation string  `json:"activation"` // usually gelu
	Eps        float64 `json:"eps"`        // of the norm; usually 1e-5
	Block      string  `json:"block"`      // pre (the usual) or post
	Norm       string  `json:"norm"`       // usually layernorm
	Position   string  `json:"position"`   // usually learned
	Attention  string  `json:"attention"`  // of the encoder; usually full
	Window     int     `json:"window"`     // w of attention window, which sees |i − j| ≤ ⌊w/2⌋; else 0
	MixedKeys  int     `json:"mixed_keys"` // k' of attention linformer, usually ⌈S/2⌉; else 0

	// Training.
	BatchSize    int     `json:"batch_size"`
	LearningRate float64 `json:"learning_rate"`
	MaxIters     int     `json:"max_iters"`
	WarmupIters  int     `json:"warmup_iters"`
	MinLR        float64 `json:"min_lr"` // where the cosine ends, at max_iters
	WeightDecay  float64 `json:"weight_decay"`
	Beta1        float64 `json:"beta1"`
	Beta2        float64 `json:"beta2"`
	GradClip     float64 `json:"grad_clip"`
	Seed         uint64  `json:"seed"`
	Threads      int     `json:"threads"`
	Kernels      bool    `json:"kernels"`
}

// Resolved returns c with the usual value in every field where zero means it.
func (c Config) Resolved() Config {
	if c.NHead > 0 {
		c.QKSize, c.VSize = usual(c.QKSize, c.NEmbd/c.NHead), usual(c.VSize, c.NEmbd/c.NHead)
	}
	c.NInner = usual(c.NInner, 4*c.NEmbd)
	c.Activation, c.Eps = usual(c.Activation, "gelu"), usual(c.Eps, 1e-5)
	c.Block, c.Norm, c.Position = usual(c.Block, "pre"), usual(c.Norm, "layernorm"), usual(c.Position, "learned")
	c.Attention = usual(c.Attention, "full")
	if c.Attention != "window" {
		c.Window = 0
	}
	if c.MixedKeys = usual(c.MixedKeys, (c.SourceSize+1)/2); c.Attention != "linformer" {
		c.MixedKeys = 0
	}
	return c
}

func usual[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// Flags registers every field with fs under its JSON name, with c's present value as the default.
func (c *Config) Flags(fs *flag.FlagSet) {
	fs.IntVar(&c.SourceSize, "source_size", c.SourceSize, "longest source in tokens; 0 takes it from the pairs")
	fs.IntVar(&c.TargetSize, "target_size", c.TargetSize,
		"longest target in tokens with the one that ends it; 0 takes it from the pairs")
	fs.IntVar(&c.SourceVocab, "source_vocab", c.SourceVocab, "tokens of the source; 0 takes them from the pairs")
	fs.IntVar(&c.TargetVocab, "target_vocab", c.TargetVocab, "tokens of the target; 0 takes them from the pairs")
	fs.IntVar(&c.NLayer, "n_layer", c.NLayer, "blocks of the encoder, and as many of the decoder")
	fs.IntVar(&c.NHead, "n_head", c.NHead, "attention heads of a block")
	fs.IntVar(&c.NEmbd, "n_embd", c.NEmbd, "width of the embeddings")
	fs.Float64Var(&c.Dropout, "dropout", c.Dropout, "probability of dropping a value while training")
	fs.BoolVar(&c.Bias, "bias", c.Bias, "biases in linear layers and norms")

	fs.IntVar(&c.QKSize, "qk_size", c.QKSize, "query and key size of a head; 0 is n_embd/n_head")
	fs.IntVar(&c.VSize, "v_size", c.VSize, "value size of a head; 0 is n_embd/n_head")
	fs.IntVar(&c.NInner, "n_inner", c.NInner, "hidden width of the MLP; 0 is 4·n_embd")
	fs.StringVar(&c.Activation, "activation", c.Activation, "activation of the MLP: "+known(activations()))
	fs.Float64Var(&c.Eps, "eps", c.Eps, "epsilon of the norm; 0 is 1e-5")
	fs.StringVar(&c.Block, "block", c.Block, "place of the norm: "+known(blocks()))
	fs.StringVar(&c.Norm, "norm", c.Norm, "norm: "+known(norms()))
	fs.StringVar(&c.Position, "position", c.Position, "positions: "+known(positions()))

	fs.StringVar(&c.Attention, "attention", c.Attention, "attention of the encoder: "+known(attentions()))
	fs.IntVar(&c.Window, "window", c.Window, "tokens that a token of the source sees in attention window, half of them on either side")
	fs.IntVar(&c.MixedKeys, "mixed_keys", c.MixedKeys, "mixtures of keys in attention linformer; 0 is half of source_size")

	fs.IntVar(&c.BatchSize, "batch_size", c.BatchSize, "pairs in a batch")
	fs.Float64Var(&c.LearningRate, "learning_rate", c.LearningRate, "highest learning rate")
	fs.IntVar(&c.MaxIters, "max_iters", c.MaxIters, "steps to train")
	fs.IntVar(&c.WarmupIters, "warmup_iters", c.WarmupIters, "steps of warm-up")
	fs.Float64Var(&c.MinLR, "min_lr", c.MinLR, "learning rate at the end")
	fs.Float64Var(&c.WeightDecay, "weight_decay", c.WeightDecay, "AdamW's weight decay, on matrices")
	fs.Float64Var(&c.Beta1, "beta1", c.Beta1, "AdamW's decay of the gradient's mean")
	fs.Float64Var(&c.Beta2, "beta2", c.Beta2, "AdamW's decay of the gradient's mean square")
	fs.Float64Var(&c.GradClip, "grad_clip", c.GradClip, "largest global norm of the gradient; 0 is no clipping")
	fs.Uint64Var(&c.Seed, "seed", c.Seed, "seed of every random choice")
	fs.IntVar(&c.Threads, "threads", c.Threads, "threads of the kernels; 0 is one per processor")
	fs.BoolVar(&c.Kernels, "kernels", c.Kernels, "use kernels; false builds the spelled stock operations")
}

// ResumeDiff returns an error that names every field in which c differs from the saved configuration of the run to resume,
// other than max_iters and threads. A zero and the usual value it stands for are equal.
func (c Config) ResumeDiff(saved Config) error {
	c, saved = c.Resolved(), saved.Resolved()
	now, was := flag.NewFlagSet("", flag.ContinueOnError), flag.NewFlagSet("", flag.ContinueOnError)
	c.Flags(now)
	saved.Flags(was)
	var diffs []string
	now.VisitAll(func(f *flag.Flag) {
		if old := was.Lookup(f.Name); f.Name != "max_iters" && f.Name != "threads" && f.DefValue != old.DefValue {
			diffs = append(diffs, f.Name+": got "+f.DefValue+", want "+old.DefValue+" as saved")
		}
	})
	if diffs != nil {
		return errors.New("resume: " + strings.Join(diffs, "; "))
	}
	return nil
}
