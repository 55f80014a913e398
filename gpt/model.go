package gpt

import (
	"fmt"

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

	adapters []*nn.LoRA
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
	at := site(s, c, batch, positions(s, c, batch))
	at.Affine = m.noting(at.Affine)
	m.Logits = newStack(at, c).forward(m.Tokens)
	m.Loss = nn.NewCrossEntropy(s.Sub("loss")).Forward(m.Logits, m.Targets)
	return m, errors.Wrap(g.Err(), "gpt")
}

// noting keeps the adapters that affine makes.
func (m *Model) noting(affine nn.Affine) nn.Affine {
	return func(s graph.Scope, in int, out []int, bias bool, init graph.Init) nn.Layer {
		l := affine(s, in, out, bias, init)
		if a, ok := l.(*nn.LoRA); ok {
			m.adapters = append(m.adapters, a)
		}
		return l
	}
}

// Params lists the parameters in the order of Table 2.
func (m *Model) Params() []graph.Expr { return m.Graph.Params() }

// Trainable lists the parameters to train: all, or with LoRA the adapters alone.
func (m *Model) Trainable() []graph.Expr {
	if m.Config.LoraR == 0 {
		return m.Params()
	}
	var list []graph.Expr
	for _, p := range m.Params() {
		if isAdapter(p) {
			list = append(list, p)
		}
	}
	return list
}

// positions are 0 … T−1 for every sequence.
func positions(s graph.Scope, c Config, batch int) graph.Expr {
	at := s.Ints("positions", batch*c.BlockSize, c.BlockSize, 0)
	for i := range at.Ints() {
		at.Ints()[i] = i % c.BlockSize
	}
	return at
}

// stack is the layers, in the order of Table 2.
type stack struct {
	wte    *nn.Embedding
	place  nn.Layer // what positions add to the embeddings; nil is nothing
	drop   *nn.Dropout
	blocks []nn.Layer
	norm   nn.Layer // nil after post-norm blocks, whose result is normalised
	head   nn.Layer
	cached bool // every block can take the newest tokens alone
}

func newStack(at nn.Site, c Config) stack {
	net := stack{wte: nn.NewEmbedding(at.Sub("wte"), c.VocabSize, c.NEmbd), cached: true}
	net.place = c.position().New(&at, c)
	net.drop = nn.NewDropout(at.At("drop"))
	block := c.block()
	var attention nn.Attention
	if !block.Plain {
		at.Mask = nn.NewBiasedMask(at.Scope, at.Dims, nn.Causal{}, at.Scores)
		attention = c.attention().New(at, c)
	}
	watched := func(at nn.Site) nn.Layer {
		l := attention(at)
		_, ok := l.(nn.Cached)
		net.cached = net.cached && ok
		return l
	}
	for i := range c.NLayer {
		at := at.At(fmt.Sprintf("h.%d", i))
		at.Block = i
		l := block.New(at, watched)
		_, ok := l.(nn.Cached)
		net.cached = net.cached && ok
		net.blocks = append(net.blocks, l)
	}
	if block.Final {
		net.norm = c.norm().New(at.At("ln_f"))
	}
	net.head = c.head().New(at.At("lm_head"), c, net.wte)
	return net
}

// site is the style of the whole model; the mask comes when the positions are known.
func site(s graph.Scope, c Config, batch int, positions graph.Expr) nn.Site {
	return nn.Site{
		Scope: s,
		Dims: nn.Dims{
			Batch: batch, Context: c.BlockSize, Embd: c.NEmbd, Heads: c.NHead,
			QK: c.QKSize, V: c.VSize, Inner: c.NInner, Blocks: c.NLayer,
		},
		Affine: affine(c), Bias: c.Bias, Eps: c.Eps, Dropout: c.Dropout,
		Act: c.activation().Layer, Norm: c.norm().New, Positions: positions,
	}
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
func (n stack) forward(tokens graph.Expr) graph.Expr { // (B·T) → (B·T, V)
	x := n.embed(tokens) // a₁       (B·T, d)
	for _, block := range n.blocks {
		x = block.Forward(x) // a₂ … a₁₀ (B·T, d)
	}
	return n.predict(x) // a₁₁, a₁₂ (B·T, V)
}

// step is forward for the newest tokens of every sequence, the first of them at position at. All blocks are cached.
func (n stack) step(tokens, at graph.Expr) (hidden, logits graph.Expr) { // (B·n) → (B·n, d), (B·n, V)
	x := n.embed(tokens)
	for _, block := range n.blocks {
		x = block.(nn.Cached).Step(x, at)
	}
	return x, n.predict(x)
}

func (n stack) embed(tokens graph.Expr) graph.Expr {
	x := n.wte.Forward(tokens)
	if n.place != nil {
		x = n.place.Forward(x)
	}
	return n.drop.Forward(x)
}

func (n stack) predict(x graph.Expr) graph.Expr {
	if n.norm != nil {
		x = n.norm.Forward(x)
	}
	return n.head.Forward(x)
}
