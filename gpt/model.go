// Package gpt stacks the layers of nn into a GPT, trains it on a text and lets it write. A Config describes network and
// training in nanoGPT's names. Start with NewTrainer, whose Run does the steps and whose Save keeps what Open opens.
// New builds the network alone, in the order of the paper's Table 2; a Decoder generates with a KV cache. Nothing here
// prints: programs own their flags and their output.
package gpt

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/made"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Model is a decoder-only transformer on batches of B sequences of T tokens: the forward column of the paper's Table 2.
// Its fields are there to be read: what is made of a model with another field is an error.
type Model struct {
	Config  Config // resolved
	Graph   *graph.Graph
	Tokens  graph.Expr // (B·T) ids, to be overwritten with Ints
	Targets graph.Expr // (B·T) ids, or text.Ignore where nothing is to be predicted
	Logits  graph.Expr // (B·T, V)
	Loss    graph.Expr // the mean cross entropy in nats over the targets that count, or that of Hooks

	adapters []*nn.LoRA
	inUse    inUse      // what Use has set them to
	merged   []*Adapter // what Merge has added to the weights
	built    *made.Network
}

// New builds the model on an empty Graph for batches of that many sequences. The Graph's switches count, which
// [Config.Configure] sets, and the model's Config says of Kernels what the Graph does. It is an error, naming the
// field, if the Config is impossible; nothing is allocated then.
func New(g *graph.Graph, c Config, batch int) (*Model, error) {
	if g == nil {
		return nil, errors.New("graph: got nil, want one of graph.New")
	}
	if batch < 1 || batch > field.MaxSize {
		return nil, errors.Errorf("gpt: got a batch of %d, want 1 to %d", batch, field.MaxSize)
	}
	limited := c
	limited.Run, limited.Kernels = c.Within(g), g.Kernels
	declared, err := limited.validated()
	if err != nil {
		return nil, err
	}
	c = c.Resolved()
	c.Kernels = g.Kernels
	m := c.declare(g, batch)
	if err := g.Err(); err != nil {
		return nil, errors.Wrap(err, "gpt")
	}
	fields := m.withConfig()
	m.built = &fields
	return m, m.checkCount(declared)
}

// declare builds the model; c is resolved.
func (c Config) declare(g *graph.Graph, batch int) *Model {
	s := g.Root()
	n := batch * c.BlockSize
	m := &Model{
		Config:  c,
		Graph:   g,
		Tokens:  s.Ints("tokens", n, c.VocabSize, graph.NoneIgnored),
		Targets: s.Ints("targets", n, c.VocabSize, text.Ignore),
	}
	made := func(l *nn.LoRA) { m.adapters = append(m.adapters, l) }
	at := site(s, c, batch, parts.Places(s, batch, c.BlockSize))
	at.Affine, at.Adapt = c.affine(made), c.adapt(made)
	net := newStack(at, c)
	m.Logits = net.predict(net.Forward(m.Tokens))
	if err := net.CheckPositions(); err != nil {
		s.Failf("%v", err)
	}
	m.Loss = c.loss(s.Sub("loss"), m.Logits, m.Targets)
	return m
}

// checkCount compares the parameters with those that were declared to be counted: memory and FLOPs would be wrong of a
// part that declares others the second time, or some in Forward.
func (m *Model) checkCount(declared outline) error {
	var built float64
	for _, p := range m.Params() {
		built += p.Entries()
	}
	if want := declared.base + declared.adapters; built != want && m.Config.NLayer <= mostDeclared {
		return errors.Errorf("gpt: built %.0f parameters, but %.0f were declared to be counted: "+
			"a layer declares in Forward, or others every time", built, want)
	}
	return nil
}

// Params lists the parameters in the order of Table 2.
func (m *Model) Params() []graph.Expr {
	if m == nil {
		return nil
	}
	return m.Graph.Params()
}

// Trainable lists the parameters to train: all, or with LoRA the adapters alone, but those that Frozen says.
func (m *Model) Trainable() []graph.Expr {
	if m == nil {
		return nil
	}
	return m.Config.Frozen.Rest(m.candidates())
}

// candidates returns all parameters, or the adapters: Frozen may keep some of them from being trained.
func (m *Model) candidates() []graph.Expr {
	if m.Config.LoraR == 0 {
		return m.Params()
	}
	return slices.DeleteFunc(slices.Clone(m.Params()), func(p graph.Expr) bool { return !isAdapter(p) })
}
