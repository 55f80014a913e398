package gpt

import "slices"

// Config says which network to build and how to train it. Its JSON keys and
// its flags are nanoGPT's names, listed with their meaning in the table that
// [Config.Flags] registers. A zero in the fields of the second group means the
// usual value, which [Config.Resolved] fills in.
//
// The sizes are written below as T = block_size, V = vocab_size, d = n_embd,
// H = n_head, dρ = qk_size, dh = v_size and f = n_inner, so that a block's
// weights are c_attn (d, H·(2dρ+dh)), attn.c_proj (H·dh, d), c_fc (d, f) and
// mlp.c_proj (f, d).
type Config struct {
	// The network.
	BlockSize int     // T, the tokens of one sequence
	VocabSize int     // V; 0 is "from the text", to be set before a network is built
	NLayer    int     // blocks
	NHead     int     // H
	NEmbd     int     // d
	Dropout   float64 // probability of dropping a value, in [0, 1)
	Bias      bool    // biases in every linear layer and layer normalisation
	Tie       bool    // the head's weight is the token embedding, and has no bias

	// The network, where zero means the usual.
	QKSize     int     // dρ of one head; usually d/H
	VSize      int     // dh of one head; usually d/H
	NInner     int     // f; usually 4d
	Activation string  // "gelu" (exact, the usual), "gelu_tanh" or "relu"
	Eps        float64 // ε inside the root of layer normalisation; usually 1e-5
	Block      string  // "pre" (the usual) or "post", where the normalisation stands

	// Low-rank adapters; with LoraR > 0 they alone are trained.
	LoraR       int      // rank r; 0 is no adapters
	LoraAlpha   float64  // α; usually r
	LoraTargets []string // endings of the adapted layers' names; usually all that own a weight
	LoraScale   string   // "alpha/r" (the usual; Hu et al. 2021) or "alpha" (the paper, equation 43)

	// Training.
	BatchSize                 int     // sequences in one micro-batch
	GradientAccumulationSteps int     // micro-batches in one step
	LearningRate              float64 // the highest
	MaxIters                  int     // steps
	WeightDecay               float64 // on matrices only
	Beta1                     float64 // AdamW's decay of the mean
	Beta2                     float64 // AdamW's decay of the mean square
	GradClip                  float64 // the largest global norm; 0 is no clipping
	DecayLR                   bool    // warm-up and cosine; else LearningRate throughout
	WarmupIters               int     // steps of linear warm-up
	LRDecayIters              int     // the step at which the cosine reaches MinLR
	MinLR                     float64 // the lowest after warm-up
	EvalInterval              int     // steps between evaluations
	EvalIters                 int     // batches of one evaluation
	LogInterval               int     // steps between log lines
	Seed                      uint64  // of every random choice
	OutDir                    string  // where a run's files go
	Threads                   int     // of the kernels; 0 is one per processor
	Kernels                   bool    // kernels; else the spelled stock operations
	Recompute                 bool    // forget a block's activations and compute them again backwards; with kernels
}

// Resolved returns c with the usual value in every field where zero means it:
// what a constructor should read. It does not change VocabSize, and leaves the
// sizes of a head at 0 where [Config.Validate] would refuse n_head.
func (c Config) Resolved() Config {
	if c.NHead > 0 {
		c.QKSize = usual(c.QKSize, c.NEmbd/c.NHead)
		c.VSize = usual(c.VSize, c.NEmbd/c.NHead)
	}
	if c.NEmbd > 0 && c.NEmbd <= maxSize { // else 4d may overflow
		c.NInner = usual(c.NInner, 4*c.NEmbd)
	}
	c.Activation = usual(c.Activation, "gelu")
	c.Eps = usual(c.Eps, 1e-5)
	c.Block = usual(c.Block, "pre")
	c.LoraScale = usual(c.LoraScale, "alpha/r")
	if c.LoraR > 0 {
		c.LoraAlpha = usual(c.LoraAlpha, float64(c.LoraR))
		if len(c.LoraTargets) == 0 {
			c.LoraTargets = []string{"c_attn", "c_proj", "c_fc"}
			if !c.Tie {
				c.LoraTargets = append(c.LoraTargets, "lm_head")
			}
		}
	}
	c.LoraTargets = slices.Clone(c.LoraTargets)
	return c
}

// usual returns value, or fallback where value is zero.
func usual[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}
