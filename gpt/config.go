package gpt

import (
	"cmp"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// Config says which network to build and how to train it. Its JSON keys and its flags are nanoGPT's names, listed with
// their meaning in the table that [Config.Flags] registers.
type Config struct {
	Network
	train.Training
	train.Run
	Parts Parts // variants of your own; not in files
}

// Network says what a model computes. A zero in the fields of the second group means the default, which [Config.Resolved]
// fills in.
//
// The sizes are written below as T = block_size, V = vocab_size, d = n_embd, H = n_head, dρ = qk_size, dh = v_size and
// f = n_inner, so that a block's weights are c_attn (d, H·(2dρ+dh)), attn.c_proj (H·dh, d), c_fc (d, f) and mlp.c_proj
// (f, d).
type Network struct {
	// The network.
	BlockSize int     // T, the tokens of one sequence
	VocabSize int     // V; 0 is "from the text", to be set before a network is built
	NLayer    int     // blocks
	NHead     int     // H
	NEmbd     int     // d
	Dropout   float64 // probability of dropping a value, in [0, 1)
	Bias      bool    // biases in every linear layer and layer normalisation

	// The parts of the network, by the names of the variants in Positions, Attentions and so on, or in Parts; empty is the
	// first of the list.
	Position   string // how tokens know where they stand
	Attention  string
	Norm       string
	Block      string // the place of the normalisation
	Activation string // of the MLP
	Head       string // "tied" is the token embedding once more

	// What some attentions want to know; the others have zeros here.
	Window       int // tokens that a query sees, itself included
	Dilation     int // distance of the keys that the last head sees; the heads before it go up to it
	GlobalTokens int // first tokens that everybody sees
	RandomKeys   int // keys that a query sees besides
	LatentSize   int // of the latent that keys and values are made of; usually d/4
	QLatentSize  int // of the latent that queries are made of; usually d/2
	RopeSize     int // of the part of a query or key that is turned; usually half of dρ, made even

	// The network, where zero means the usual.
	QKSize    int     // dρ of one head; usually d/H
	VSize     int     // dh of one head; usually d/H
	NInner    int     // f; usually 4d
	Eps       float64 // ε of layer normalisation; usually 1e-5
	RopeTheta float64 // base of the rotary positions' frequencies; usually 10000

	// Low-rank adapters; with LoraR > 0 they alone are trained.
	LoraR       int      // rank r; 0 is no adapters
	LoraAlpha   float64  // α; usually r
	LoraTargets []string // endings of the adapted layers' names; usually all that own a weight
	LoraScale   string   // "alpha/r" (the usual; Hu et al. 2021) or "alpha" (the paper, equation 43)
}

// Resolved returns c with the usual value in every field where zero means it:
// what a constructor should read. It does not change VocabSize, and leaves the
// sizes of a head at 0 where [Config.Validate] would refuse n_head.
func (c Config) Resolved() Config {
	if c.NHead > 0 {
		c.QKSize = cmp.Or(c.QKSize, c.NEmbd/c.NHead)
		c.VSize = cmp.Or(c.VSize, c.NEmbd/c.NHead)
	}
	if c.NEmbd > 0 && c.NEmbd <= field.MaxSize { // else 4d may overflow
		c.NInner = cmp.Or(c.NInner, 4*c.NEmbd)
	}
	c.Eps = cmp.Or(c.Eps, 1e-5)
	c.RopeTheta = cmp.Or(c.RopeTheta, 10_000)
	c.Position = cmp.Or(c.Position, Positions()[0].Name)
	c.Attention = cmp.Or(c.Attention, Attentions()[0].Name)
	c.Norm = cmp.Or(c.Norm, Norms()[0].Name)
	c.Block = cmp.Or(c.Block, Blocks()[0].Name)
	c.Activation = cmp.Or(c.Activation, Activations()[0].Name)
	c.Head = cmp.Or(c.Head, Heads()[0].Name)
	c.resolveOwn()
	c.Training = c.Training.Resolved()
	c.LoraScale = cmp.Or(c.LoraScale, "alpha/r")
	if c.LoraR > 0 {
		c.LoraAlpha = cmp.Or(c.LoraAlpha, float64(c.LoraR))
		if len(c.LoraTargets) == 0 {
			c.LoraTargets = c.adaptable()
		}
	}
	c.LoraTargets = slices.Clone(c.LoraTargets)
	return c
}

// resolveOwn fills in the fields of the named attention, and resets those that belong to others.
func (c *Config) resolveOwn() {
	a := c.attention()
	for name, p := range map[string]*int{
		"window": &c.Window, "dilation": &c.Dilation, "global_tokens": &c.GlobalTokens, "random_keys": &c.RandomKeys,
		"latent_size": &c.LatentSize, "q_latent_size": &c.QLatentSize, "rope_size": &c.RopeSize,
	} {
		if !slices.Contains(a.Fields, name) {
			*p = 0
		}
	}
	if a.Usual != nil {
		a.Usual(c)
	}
}
