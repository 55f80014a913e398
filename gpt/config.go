package gpt

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Config says which network to build and how to train it. Its JSON keys and its flags are nanoGPT's names, listed with
// their meaning in the table that [Config.Flags] registers.
type Config struct {
	Network
	train.Training
	train.Run
	Parts parts.Registry // a program's variants beside the library's; not in files
	Hooks train.Hooks    // what a run does that is code; not in files, to be given again when it is resumed
}

// Network says what a model computes. A zero means the default where a field says so; [Config.Resolved] fills it in.
//
// The sizes are written below as T = block_size, V = vocab_size, d = n_embd, H = n_head, dρ = qk_size, dh = v_size and
// f = n_inner, so that a block's weights are c_attn (d, H·(2dρ+dh)), attn.c_proj (H·dh, d), c_fc (d, f) and mlp.c_proj
// (f, d).
type Network struct {
	parts.Stack
	BlockSize int    // T, the tokens of one sequence
	VocabSize int    // V; 0 is "from the text", to be set before a network is built
	Head      string // "linear", the default, or "tied", the token embedding once more
	Adapters
}

// Adapters are of low rank (LoRA); with LoraR > 0 they alone are trained.
type Adapters struct {
	LoraR       int      // rank r; 0 is no adapters
	LoraAlpha   float64  // α; by default r
	LoraTargets []string // endings of the adapted layers' names; by default all that have a weight
	LoraScale   string   // "alpha/r", the default (Hu et al. 2021), "alpha" (the paper, equation 43), or "alpha/sqrt(r)" (rsLoRA)
}

// Configure sets the switches of a graph to build on, as [train.Configure] does: kernels, their threads and precision,
// and how much memory the graph may hold.
func (c Config) Configure(g *graph.Graph) { train.Configure(g, c.Training, c.Run) }

// known returns the variants that c may name.
func (c Config) known() parts.Registry { return c.Parts.WithLibrary() }

// withDefaults is Resolved but for the targets of adapters, which depend on its layers.
func (c Config) withDefaults() Config {
	c.Stack = c.Stack.Resolved(c.known())
	c.Head = cmp.Or(c.Head, parts.Names(parts.Heads())[0])
	c.Optimizer = cmp.Or(c.Optimizer, parts.Names(parts.Optimizers())[0])
	c.Precision = cmp.Or(c.Precision, graph.Precisions()[0])
	c.LoraScale = cmp.Or(c.LoraScale, "alpha/r")
	if c.LoraR > 0 {
		c.LoraAlpha = cmp.Or(c.LoraAlpha, float64(c.LoraR))
	}
	c.LoraTargets = slices.Clone(c.LoraTargets)
	return c
}

// adapts reports whether the layer of that name has adapters: whether the name ends, at a dot, in a target. It takes
// "h.3.mlp.c_fc" as well as "mlp.c_fc".
func (a Adapters) adapts(layer string) bool {
	return a.LoraR > 0 && slices.ContainsFunc(a.LoraTargets, func(target string) bool {
		return layer == target || strings.HasSuffix(layer, "."+target)
	})
}
