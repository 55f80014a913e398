package gpt

import (
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Model is a decoder-only transformer on batches of B sequences of T tokens: the forward column of the paper's Table 2.
type Model struct {
	Config  Config // resolved
	Graph   *graph.Graph
	Tokens  graph.Expr // (B·T) ids, to be overwritten with Ints
	Targets graph.Expr // (B·T) ids, or text.Ignore where nothing is to be predicted
	Logits  graph.Expr // (B·T, V)
	Loss    graph.Expr // the mean cross entropy in nats over the targets that count
}

// New builds the model on an empty Graph for batches of so many sequences. The Graph's own switches (Kernels, threads)
// count, not the Config's. It is an error, naming the field, if the Config is impossible; nothing is allocated then.
func New(g *graph.Graph, c Config, batch int) (*Model, error) {
	if err := c.ValidateModel(); err != nil {
		return nil, err
	}
	c = c.Resolved()
	s := g.Root()
	n := batch * c.BlockSize
	m := &Model{
		Config:  c,
		Graph:   g,
		Tokens:  s.Ints("tokens", n, c.VocabSize, 0),
		Targets: s.Ints("targets", n, c.VocabSize, text.Ignore),
	}
	positions := s.Ints("positions", n, c.BlockSize, 0)
	for i := range positions.Ints() {
		positions.Ints()[i] = i % c.BlockSize
	}
	m.Logits = newStack(site(s, c, batch), c).forward(m.Tokens, positions)
	m.Loss = nn.NewCrossEntropy(s.Sub("loss")).Forward(m.Logits, m.Targets)
	return m, errors.Wrap(g.Err(), "gpt")
}

// Batch is B, the number of sequences.
func (m *Model) Batch() int { return len(m.Tokens.Ints()) / m.Config.BlockSize }

// Params lists the parameters in the order of Table 2.
func (m *Model) Params() []graph.Expr { return m.Graph.Params() }

// Trainable lists the parameters to train: all, or with LoRA the adapters alone.
func (m *Model) Trainable() []graph.Expr {
	if m.Config.LoraR == 0 {
		return m.Params()
	}
	var list []graph.Expr
	for _, p := range m.Params() {
		if strings.Contains(p.Name(), ".lora_") {
			list = append(list, p)
		}
	}
	return list
}

// stack is the layers, in the order of Table 2.
type stack struct {
	wte, wpe *nn.Embedding
	drop     *nn.Dropout
	blocks   []nn.Cached
	norm     nn.Layer // nil after post-norm blocks, whose result is normalised
	head     nn.Layer
}

func newStack(at nn.Site, c Config) stack {
	s := at.Scope
	net := stack{
		wte:  nn.NewEmbedding(s.Sub("wte"), c.VocabSize, c.NEmbd),
		wpe:  nn.NewEmbedding(s.Sub("wpe"), c.BlockSize, c.NEmbd),
		drop: nn.NewDropout(at.At("drop")),
	}
	attention := func(at nn.Site) nn.Layer { return nn.NewCausalSelfAttention(at) }
	for i := range c.NLayer {
		at := at.At(fmt.Sprintf("h.%d", i))
		at.Block = i
		if c.Block == "post" {
			net.blocks = append(net.blocks, nn.NewPostNormBlock(at, attention))
		} else {
			net.blocks = append(net.blocks, nn.NewBlock(at, attention))
		}
	}
	if c.Block != "post" {
		net.norm = nn.NewLayerNorm(at.At("ln_f"))
	}
	if c.Tie {
		net.head = nn.NewTied(s.Sub("lm_head"), net.wte)
	} else {
		net.head = at.Affine(s.Sub("lm_head"), c.NEmbd, []int{c.VocabSize}, c.Bias, graph.Normal(0.02))
	}
	return net
}

// site is the style of the whole model.
func site(s graph.Scope, c Config, batch int) nn.Site {
	dims := nn.Dims{
		Batch: batch, Context: c.BlockSize, Embd: c.NEmbd, Heads: c.NHead,
		QK: c.QKSize, V: c.VSize, Inner: c.NInner, Blocks: c.NLayer,
	}
	return nn.Site{
		Scope: s, Dims: dims, Affine: affine(c), Bias: c.Bias, Eps: c.Eps, Dropout: c.Dropout,
		Mask: nn.NewMask(s, dims, nn.Causal{}), Act: activation(c),
	}
}

func activation(c Config) nn.Layer {
	switch c.Activation {
	case "gelu_tanh":
		return nn.GELUTanh{}
	case "relu":
		return nn.ReLU{}
	}
	return nn.GELU{}
}

func affine(c Config) nn.Affine {
	if c.LoraR == 0 {
		return nn.NewLinear
	}
	scale := c.LoraAlpha
	if c.LoraScale == "alpha/r" {
		scale /= float64(c.LoraR)
	}
	return nn.NewLoRA(c.Adapts, c.LoraR, scale)
}

// forward is Table 2 from top to bottom; the numbers of its activations stand on the right.
func (n stack) forward(tokens, positions graph.Expr) graph.Expr { // (B·T) → (B·T, V)
	x := n.embed(tokens, positions) // a₁       (B·T, d)
	for _, block := range n.blocks {
		x = block.Forward(x) // a₂ … a₁₀ (B·T, d)
	}
	return n.predict(x) // a₁₁, a₁₂ (B·T, V)
}

// step is forward for the newest tokens of every sequence, the first of them at position at.
func (n stack) step(tokens, positions, at graph.Expr) (hidden, logits graph.Expr) { // (B·n) → (B·n, d), (B·n, V)
	x := n.embed(tokens, positions)
	for _, block := range n.blocks {
		x = block.Step(x, at)
	}
	return x, n.predict(x)
}

func (n stack) embed(tokens, positions graph.Expr) graph.Expr {
	return n.drop.Forward(n.wte.Forward(tokens).Add(n.wpe.Forward(positions)))
}

func (n stack) predict(x graph.Expr) graph.Expr {
	if n.norm != nil {
		x = n.norm.Forward(x)
	}
	return n.head.Forward(x)
}
