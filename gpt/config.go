package gpt

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Config describes a network and its training. Its JSON keys and its flags are nanoGPT's names; [Config.Flags]
// registers them with their meanings.
type Config struct {
	Network
	train.Training
	train.Run
	Parts parts.Registry // user-defined variants in addition to the library's; not in files
	Hooks train.Hooks    // code that a run calls; not in files, so Resume needs it again
}

// Network describes what a model computes. Zero means the default where a field says so; [Config.Resolved] fills it in.
//
// The sizes are written below as T = block_size, V = vocab_size, d = n_embd, H = n_head, dρ = qk_size, dh = v_size and
// f = n_inner, so that a block's weights are c_attn (d, H·(2dρ+dh)), attn.c_proj (H·dh, d), c_fc (d, f) and mlp.c_proj
// (f, d).
type Network struct {
	parts.Stack
	BlockSize int    // T, the number of tokens in a sequence
	VocabSize int    // V; 0 means "from the text" and must be replaced before a network is built
	Head      string // "linear", the default, or "tied", which uses the token embedding again
	Adapters
}

// Adapters describes the adapters of low rank (LoRA). If LoraR > 0, only they are trained.
type Adapters struct {
	LoraR       int      // rank r; 0 means no adapters
	LoraAlpha   float64  // α; by default r
	LoraTargets []string // endings of the adapted layers' names; by default all layers that have a weight
	LoraScale   string   // "alpha/r", default (Hu et al. 2021), "alpha" (paper, equation 43), "alpha/sqrt(r)" (rsLoRA)
}

// Configure sets the switches of a graph before a network is built on it, as [train.Configure] does: kernels, their
// threads and precision, and the graph's memory limit.
func (c Config) Configure(g *graph.Graph) { train.Configure(g, c.Training, c.Run) }

// known returns the variants that c may name.
func (c Config) known() parts.Registry { return c.Parts.WithLibrary() }

// plan is a Config with every default filled in and with its names looked up. Models are built from it.
type plan struct {
	Config
	design parts.Design
	head   parts.Head
	rule   train.Optimizer
}

// planned looks up the parts of c. It leaves LoraTargets, whose default depends on the network's layers.
func (c Config) planned() plan {
	known := c.known()
	p := plan{Config: c, design: known.Design(c.Stack)}
	p.Stack = p.design.Stack
	p.Head = cmp.Or(c.Head, parts.Names(parts.Heads())[0])
	p.Optimizer = cmp.Or(c.Optimizer, parts.Names(parts.Optimizers())[0])
	p.Precision = cmp.Or(c.Precision, graph.Precisions()[0])
	p.LoraScale = cmp.Or(c.LoraScale, "alpha/r")
	if c.LoraR > 0 {
		p.LoraAlpha = cmp.Or(c.LoraAlpha, float64(c.LoraR))
	}
	p.LoraTargets = slices.Clone(c.LoraTargets)
	p.head, p.rule = parts.Find(known.Heads, p.Head), parts.Find(known.Optimizers, p.Optimizer).New
	return p
}

// deep returns p with n blocks.
func (p plan) deep(n int) plan {
	p.NLayer, p.design.Stack.NLayer = n, n
	return p
}

// targeted returns p with the default of LoraTargets.
func (p plan) targeted() plan {
	if p.LoraR > 0 && len(p.LoraTargets) == 0 {
		plain := p.deep(max(1, p.NLayer)) // with valid sizes: Validate reports the others
		plain.Adapters = Adapters{}
		plain.BlockSize, plain.VocabSize = max(1, p.BlockSize), max(1, p.VocabSize)
		o, _ := plain.outline()
		p.LoraTargets = o.targets()
	}
	return p
}

// adapts reports whether the layer of that name has adapters, that is, whether a target equals the name or its ending
// after a dot. It accepts "h.3.mlp.c_fc" as well as "mlp.c_fc".
func (a Adapters) adapts(layer string) bool {
	return a.LoraR > 0 && slices.ContainsFunc(a.LoraTargets, func(target string) bool {
		return layer == target || strings.HasSuffix(layer, "."+target)
	})
}
