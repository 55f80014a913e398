package gpt

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Parts are variants of your own, which a Config can name beside the library's. A variant of the library's name takes its
// place. Names go into configuration files and checkpoints, the variants themselves do not: a program that reads one
// back brings the Parts along.
type Parts struct {
	Positions   []Position
	Attentions  []Attention
	Norms       []Norm
	Blocks      []Block
	Activations []Activation
	Heads       []Head
	Optimizers  []train.Optimizer
}

// Linear is a matrix of a network, (In, sum of Outs), and its name inside its block, such as "attn.c_attn". LoRA adapts
// it in pieces: the queries, keys and values of c_attn. The sizes are float64, so that they overflow for no Config.
type Linear struct {
	Name string
	In   float64
	Outs []float64
	Bias bool // it has a bias where the Config has biases
}

// Position is a way to tell a model where its tokens stand. It may give the site that all layers share a rotation of
// queries and keys or a bias of the scores, and the layer that New returns, if any, is applied to the embeddings.
type Position struct {
	Name  string
	Check func(c Config) error // what is impossible with it, naming field and both numbers; nil is nothing
	New   func(at *nn.Site, c Config) nn.Layer
	Count func(c Config) float64 // parameters; nil is none
}

// Attention is a kind of attention layer.
type Attention struct {
	Name   string
	Fields []string        // of the Config that it reads beside the usual sizes; the others are reset by Resolved
	Usual  func(c *Config) // fills in those that are zero where zero means the usual; nil is none
	Check  func(c Config) error
	// New is called once for a model, at its root, and the result once for every block: what blocks share is made here.
	New     func(root nn.Site, c Config) nn.Attention
	Linears func(c Config) []Linear      // its matrices, with names that begin with "attn."
	Others  func(c Config) (sum float64) // parameters that are no Linear; nil is none
	Mixing  func(c Config) float64       // products of numbers in which a token meets others, in a block; nil is T·H(dρ+dh)
	Masks   func(c Config) float64       // numbers in the masks of a model; nil is T², H·T² with biases
}

// Norm is a kind of normalisation.
type Norm struct {
	Name  string
	New   func(at nn.Site) nn.Layer
	Count func(c Config) float64 // parameters; nil is none
}

// Block is the arrangement of a block.
type Block struct {
	Name  string
	Check func(c Config) error
	New   func(at nn.Site, attention nn.Attention) nn.Layer
	// Final: a stack of them ends with a norm of its own.
	Final bool
	// Plain: there is neither attention nor norm nor MLP inside, and Linears are all matrices.
	Plain   bool
	Linears func(c Config) []Linear
	Others  func(c Config) float64
}

// Activation is the activation of an MLP.
type Activation struct {
	Name  string
	Layer nn.Layer
	HF    []string // what Hugging Face calls it, first the name to write
}

// Head turns the last activations into logits.
type Head struct {
	Name string
	New  func(at nn.Site, c Config, wte *nn.Embedding) nn.Layer
	// Linear is its matrix lm_head; nil has none of its own.
	Linear func(c Config) Linear
}

func (p Position) title() string   { return p.Name }
func (a Attention) title() string  { return a.Name }
func (n Norm) title() string       { return n.Name }
func (b Block) title() string      { return b.Name }
func (a Activation) title() string { return a.Name }
func (h Head) title() string       { return h.Name }

type titled interface{ title() string }

func names[V titled](list []V) (out []string) {
	for _, v := range list {
		if !slices.Contains(out, v.title()) {
			out = append(out, v.title())
		}
	}
	return out
}

// named is the first of that name, or the zero V: Validate has looked at the names.
func named[V titled](list []V, name string) (v V) {
	if i := slices.IndexFunc(list, func(v V) bool { return v.title() == name }); i >= 0 {
		return list[i]
	}
	return v
}

func (c Config) positions() []Position {
	return append(slices.Clone(c.Parts.Positions), Positions()...)
}
func (c Config) attentions() []Attention {
	return append(slices.Clone(c.Parts.Attentions), Attentions()...)
}
func (c Config) norms() []Norm   { return append(slices.Clone(c.Parts.Norms), Norms()...) }
func (c Config) blocks() []Block { return append(slices.Clone(c.Parts.Blocks), Blocks()...) }
func (c Config) activations() []Activation {
	return append(slices.Clone(c.Parts.Activations), Activations()...)
}
func (c Config) optimizers() []train.Optimizer {
	return append(slices.Clone(c.Parts.Optimizers), train.Optimizers()...)
}
func (c Config) heads() []Head { return append(slices.Clone(c.Parts.Heads), Heads()...) }

// The variants that c names; c is resolved.
func (c Config) position() Position     { return named(c.positions(), c.Position) }
func (c Config) attention() Attention   { return named(c.attentions(), c.Attention) }
func (c Config) norm() Norm             { return named(c.norms(), c.Norm) }
func (c Config) block() Block           { return named(c.blocks(), c.Block) }
func (c Config) activation() Activation { return named(c.activations(), c.Activation) }
func (c Config) head() Head             { return named(c.heads(), c.Head) }
