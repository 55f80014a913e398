package seq2seq

import (
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/made"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Masked is the encoder alone as a masked language model (Conti chapter 3; CS 224n section 3.5): some tokens of a
// source are replaced by Hidden, and a linear layer and a softmax on the encoder's output guess them from both sides.
// The decoder's fields of the Config are not used. The fields of a Masked are read-only: Fill returns an error if one
// has been replaced.
type Masked struct {
	Config  Config // resolved
	Graph   *graph.Graph
	Source  graph.Expr // (B·S) ids
	Targets graph.Expr // (B·S) ids, text.Ignore where no token was hidden
	Logits  graph.Expr // (B·S, V)
	Loss    graph.Expr // the mean cross entropy in nats over the hidden tokens

	encoder encoder
	built   *made.Network
}

// withConfig returns the exported fields of m, including those of its Config that change the result of a graph that
// does not train.
func (m *Masked) withConfig() made.Network {
	return made.Network{Graph: m.Graph, Config: m.Config.networkFields().Without("dropout").Lines(), Exprs: []made.Expr{
		{Name: "Source", Expr: m.Source}, {Name: "Targets", Expr: m.Targets},
		{Name: "Logits", Expr: m.Logits}, {Name: "Loss", Expr: m.Loss},
	}}
}

// NewMasked builds the model on an empty Graph for batches of the given number of sources.
func NewMasked(g *graph.Graph, c Config, batch int) (*Masked, error) {
	switch {
	case g == nil:
		return nil, errors.New("masked: graph: got nil, want one of graph.New")
	case batch < 1 || batch > field.MaxSize:
		return nil, errors.Errorf("masked: got batch_size %d, want 1 to %d", batch, field.MaxSize)
	}
	if c.LabelSmoothing != 0 || c.ZLoss != 0 {
		return nil, errors.Errorf("masked: label_smoothing and z_loss: got %v and %v, want 0: "+
			"the loss to minimise is Loss", c.LabelSmoothing, c.ZLoss)
	}
	c.TargetSize, c.TargetVocab = 1, 1
	limited := c
	limited.Run = c.Within(g)
	if err := limited.ValidateModel(); err != nil {
		return nil, err
	}
	c = c.Resolved()
	s := g.Root()
	m := &Masked{
		Config:  c,
		Graph:   g,
		Source:  s.Ints("source", batch*c.SourceSize, c.SourceVocab, graph.NoneIgnored),
		Targets: s.Ints("targets", batch*c.SourceSize, c.SourceVocab, text.Ignore),
	}
	if err := g.Err(); err != nil { // too large, and so would be the list of lengths
		return nil, errors.Wrap(err, "masked model")
	}
	m.encoder = newEncoder(s.Sub("encoder"), c, batch)
	head := nn.NewLinear(s.Sub("lm_head"), c.NEmbd, []int{c.SourceVocab}, c.Bias, graph.Normal(0.02))
	m.Logits = head.Forward(m.encoder.forward(m.Source))
	m.Loss = nn.NewCrossEntropy(s.Sub("loss")).Forward(m.Logits, m.Targets)
	fields := m.withConfig()
	m.built = &fields
	return m, errors.Wrap(g.Err(), "masked model")
}

// Params lists the parameters.
func (m *Masked) Params() []graph.Expr {
	if m == nil {
		return nil
	}
	return m.Graph.Params()
}

// Fill copies the sources, one for every row of the batch, into Source, and hides each of their tokens with
// probability rate, at least one in each source.
func (m *Masked) Fill(sources [][]int, rate float64, rng *rand.Rand) error {
	switch {
	case m == nil || m.Graph == nil:
		return errors.New("masked: nothing to fill, want one of NewMasked")
	case !(rate >= 0 && rate <= 1):
		return errors.Errorf("masked: got rate %v, want 0 to 1", rate)
	}
	if err := made.Check(m.built, m.withConfig()); err != nil {
		return errors.WithMessage(err, "masked")
	}
	if len(sources) != len(m.encoder.lengths) {
		return errors.Errorf("got %d sources for a batch of %d", len(sources), len(m.encoder.lengths))
	}
	pairs := make([]Pair, len(sources))
	for b, source := range sources {
		pairs[b].Source = source
	}
	if err := m.Config.allFit(pairs); err != nil {
		return err
	}
	ids, targets := m.Source.Ints(), m.Targets.Ints()
	if err := fillSources(m.encoder, ids, pairs); err != nil {
		return err
	}
	for i := range targets {
		targets[i] = text.Ignore
	}
	if rng == nil || *rng == (rand.Rand{}) {
		return errors.New("masked: nothing to draw with (nil)")
	}
	for b, n := range m.encoder.lengths {
		row := b * m.Config.SourceSize
		hide := func(i int) { targets[row+i], ids[row+i] = pairs[b].Source[i], Hidden }
		hide(rng.IntN(n))
		for i := range n {
			if rng.Float64() < rate {
				hide(i)
			}
		}
	}
	return nil
}
