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
	loads     []nn.Load // of the blocks with experts, the encoder's first

	built made.Network
}

// New builds the model on an empty Graph, whose memory limit applies, for batches of the given number of pairs. An
// impossible Config is an error that names the field; nothing is allocated then.
func New(g *graph.Graph, c Config, batch int) (*Model, error) {
	if err := c.checkOn(g, batch); err != nil {
		return nil, errors.WithMessage(err, "seq2seq")
	}
	m := c.Resolved().declare(g, batch)
	m.built = m.withConfig()
	return m, errors.Wrap(g.Err(), "seq2seq")
}

// checkOn returns an error unless c is the Config of a network that can be built on g.
func (c Config) checkOn(g *graph.Graph, batch int) error {
	switch {
	case g == nil:
		return errors.New("graph: got nil, want one of graph.New")
	case batch < 1 || batch > field.MaxSize:
		return errors.Errorf("got batch_size %d, want 1 to %d", batch, field.MaxSize)
	}
	c.Run = c.Within(g)
	return c.ValidateModel()
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

// Params lists the parameters, the encoder's first.
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

// fields returns the exported fields of m except its Config, which a step would take too long to compare.
func (m *Model) fields() made.Network {
	return made.Network{Graph: m.Graph, Exprs: []made.Expr{
		{Name: "Source", Expr: m.Source}, {Name: "Input", Expr: m.Input}, {Name: "Targets", Expr: m.Targets},
		{Name: "Logits", Expr: m.Logits}, {Name: "Loss", Expr: m.Loss},
	}}
}

// withConfig returns the exported fields of m.
func (m *Model) withConfig() made.Network {
	all := m.fields()
	all.Config = m.Config.network()
	return all
}

// check returns an error that names the field if one of the given fields of m differs since New or LoadModel.
func (m *Model) check(fields func(*Model) made.Network) error {
	if m == nil {
		return errors.New("model: got nil, want one of New or LoadModel")
	}
	return made.Check(&m.built, fields(m))
}

// The first ids of every Vocabulary.
const (
	Pad    = iota // fills rows that are not full
	Begin         // the decoder reads it before the target
	End           // ends a target
	Hidden        // replaces a token that a masked model must guess
	specials
)

// Fill copies the pairs, one for every row of the batch, into Source, Input, Targets and the masks. After an error all
// of them are unchanged.
func (m *Model) Fill(pairs []Pair) error {
	if err := m.check((*Model).fields); err != nil {
		return err
	}
	if batch := len(m.encoder.lengths); len(pairs) != batch {
		return errors.Errorf("got %d pairs for a batch of %d", len(pairs), batch)
	}
	fits := m.config.fits()
	sources := make([][]int, len(pairs))
	for b, p := range pairs {
		if err := fits(b, p); err != nil {
			return err
		}
		sources[b] = p.Source
	}
	t := m.config.TargetSize
	input, targets := m.Input.Ints(), m.Targets.Ints()
	for b, p := range pairs {
		in, out := input[b*t:][:t], targets[b*t:][:t]
		for i := range t {
			in[i], out[i] = Pad, text.Ignore
		}
		in[0], out[len(p.Target)] = Begin, End
		copy(in[1:], p.Target)
		copy(out, p.Target)
	}
	if err := m.encoder.fill(m.Source.Ints(), sources); err != nil {
		return err
	}
	return m.memory.Update()
}
