package seq2seq

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

// Model is an encoder–decoder on batches of B pairs (Conti chapter 1, CS 224n section 3.7). All blocks of the decoder
// attend to the final output of the encoder. The fields are read-only: functions on a model with a replaced field
// return an error.
type Model struct {
	Config  Config // resolved
	Graph   *graph.Graph
	Source  graph.Expr // (B·S) ids
	Input   graph.Expr // (B·T) ids: Begin and the target, which the decoder reads
	Targets graph.Expr // (B·T) ids: the target and End, text.Ignore in the padding
	Logits  graph.Expr // (B·T, V)
	Loss    graph.Expr // the mean cross entropy −log p in nats (errata C16) over the targets that count (errata D6)

	config  Config // as it was built
	encoder encoder
	memory  *nn.Memory

	// objective is to be minimised: Loss, or the cross entropy with label_smoothing and z_loss, and the losses that
	// balance experts.
	objective graph.Expr
	loads     []nn.Load // of the blocks with experts, those of the encoder first

	built *made.Network
}

// New builds the model on an empty Graph, whose memory limit applies, for batches of the given number of pairs. An
// impossible Config is an error that names the field; nothing is allocated then.
func New(g *graph.Graph, c Config, batch int) (*Model, error) {
	if g == nil {
		return nil, errors.New("seq2seq: graph: got nil, want one of graph.New")
	}
	if batch < 1 || batch > field.MaxSize {
		return nil, errors.Errorf("seq2seq: got batch_size %d, want 1 to %d", batch, field.MaxSize)
	}
	limited := c
	limited.Run = c.Within(g)
	if err := limited.ValidateModel(); err != nil {
		return nil, err
	}
	m := c.Resolved().declare(g, batch)
	fields := m.withConfig()
	m.built = &fields
	return m, errors.Wrap(g.Err(), "seq2seq")
}

// declare builds the model; c is resolved.
func (c Config) declare(g *graph.Graph, batch int) *Model {
	s := g.Root()
	m := &Model{
		Config:  c,
		config:  c,
		Graph:   g,
		Source:  s.Ints("source", batch*c.SourceSize, c.SourceVocab, graph.NoneIgnored),
		Input:   s.Ints("input", batch*c.TargetSize, c.TargetVocab, graph.NoneIgnored),
		Targets: s.Ints("targets", batch*c.TargetSize, c.TargetVocab, text.Ignore),
	}
	if g.Err() != nil { // too large; so would be the list of lengths
		return m
	}
	m.encoder = newEncoder(s.Sub("encoder"), c, batch)
	z := m.encoder.forward(m.Source) // (B·S, d)
	if err := m.encoder.CheckUsed(); err != nil {
		s.Failf("%v", err)
	}
	at := s.Sub("decoder")
	m.memory = nn.NewMemory(at.Sub("memory"), z, batch, c.TargetSize, c.SourceSize, m.encoder.lengths)
	d := newDecoder(at, c, batch, m.memory, parts.Places(at, batch, c.TargetSize), nil)
	m.Logits = d.predict(d.Forward(m.Input)) // (B·T, V)
	m.Loss = nn.NewCrossEntropy(s.Sub("loss")).Forward(m.Logits, m.Targets)
	m.objective = m.Loss
	if c.LabelSmoothing != 0 || c.ZLoss != 0 {
		l := nn.NewCrossEntropy(s.Sub("objective"))
		l.Smoothing, l.ZLoss = c.LabelSmoothing, c.ZLoss
		m.objective = l.Forward(m.Logits, m.Targets)
	}
	m.objective = m.encoder.Balanced(d.Balanced(m.objective))
	m.loads = slices.Concat(m.encoder.Loads(), d.Loads())
	return m
}

// Params lists the parameters, those of the encoder first.
func (m *Model) Params() []graph.Expr {
	if m == nil {
		return nil
	}
	return m.Graph.Params()
}

// trained lists the parameters that have a gradient.
func (m *Model) trained() []graph.Expr {
	return slices.DeleteFunc(slices.Clone(m.Params()), nn.IsBalancing)
}

// fields returns the exported fields of m except its Config.
func (m *Model) fields() made.Network {
	exprs := []made.Expr{
		{Name: "Source", Expr: m.Source}, {Name: "Input", Expr: m.Input}, {Name: "Targets", Expr: m.Targets},
		{Name: "Logits", Expr: m.Logits}, {Name: "Loss", Expr: m.Loss},
	}
	return made.Network{Graph: m.Graph, Exprs: exprs}
}

// withConfig returns the exported fields of m, including those of its Config that change the result of a graph that
// does not train.
func (m *Model) withConfig() made.Network {
	all := m.fields()
	all.Config = m.Config.networkFields().Without("dropout").Lines()
	return all
}

// check returns an error that names the field if a field of m has been replaced since New or LoadModel.
func (m *Model) check() error {
	if m == nil {
		return errors.New("model: got nil, want one of New or LoadModel")
	}
	return made.Check(m.built, m.withConfig())
}

// encoder is a stack of blocks without a causal mask: every token of a source sees all tokens, or those that the
// attention allows, but no padding.
type encoder struct {
	*parts.Body
	lengths []int // of the sources
	mask    *nn.Mask
}

func newEncoder(s graph.Scope, c Config, batch int) encoder {
	design := c.design()
	at := design.Site(batch, c.SourceSize)
	at.Scope, at.Positions = s, parts.Places(s, batch, c.SourceSize)
	e := encoder{lengths: slices.Repeat([]int{c.SourceSize}, batch)}
	e.Body = design.Body(at, c.SourceVocab, func(root nn.Site) (*nn.Mask, func(nn.Site) nn.Layer) {
		kind, block := c.attention(), c.block()
		e.mask = nn.NewBiasedMask(s, root.Dims, kind.sees(c.Stack, e.lengths), root.Scores)
		root.Mask = e.mask
		attention := kind.Make(root, c.Stack)
		return e.mask, func(at nn.Site) nn.Layer { return block.New(at, attention) }
	})
	return e
}

func (e encoder) forward(tokens graph.Expr) graph.Expr { return e.Normed(e.Forward(tokens)) } // (B·S) → (B·S, d)
