package seq2seq

import (
	"math/rand/v2"

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
	built   made.Network
}

// NewMasked builds the model on an empty Graph for batches of the given number of sources.
func NewMasked(g *graph.Graph, c Config, batch int) (*Masked, error) {
	if c.LabelSmoothing != 0 || c.ZLoss != 0 {
		return nil, errors.Errorf("masked: label_smoothing and z_loss: got %v and %v, want 0: "+
			"the loss to minimise is Loss", c.LabelSmoothing, c.ZLoss)
	}
	c.TargetSize, c.TargetVocab = 1, 1
	if err := c.checkOn(g, batch); err != nil {
		return nil, errors.WithMessage(err, "masked")
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
		return nil, errors.Wrap(err, "masked")
	}
	m.encoder = newEncoder(s.Sub("encoder"), c, batch)
	head := nn.NewLinear(s.Sub("lm_head"), c.NEmbd, []int{c.SourceVocab}, c.Bias, graph.Normal(0.02))
	m.Logits = head.Forward(m.encoder.forward(m.Source))
	m.Loss = nn.NewCrossEntropy(s.Sub("loss")).Forward(m.Logits, m.Targets)
	m.built = m.fields()
	return m, errors.Wrap(g.Err(), "masked")
}

// fields returns the exported fields of m, as Model.withConfig does.
func (m *Masked) fields() made.Network {
	return made.Network{Graph: m.Graph, Config: m.Config.network(), Exprs: []made.Expr{
		{Name: "Source", Expr: m.Source}, {Name: "Targets", Expr: m.Targets},
		{Name: "Logits", Expr: m.Logits}, {Name: "Loss", Expr: m.Loss},
	}}
}

// Params lists the parameters.
func (m *Masked) Params() []graph.Expr {
	if m == nil {
		return nil
	}
	return m.Graph.Params()
}

// Fill copies the sources, one for every row of the batch, into Source, and hides each of their tokens with
// probability rate, at least one in each source. After an error nothing has changed.
func (m *Masked) Fill(sources [][]int, rate float64, rng *rand.Rand) error {
	switch {
	case m == nil:
		return errors.New("masked: nothing to fill, want one of NewMasked")
	case !(rate >= 0 && rate <= 1):
		return errors.Errorf("masked: got rate %v, want 0 to 1", rate)
	case rng == nil || *rng == (rand.Rand{}):
		return errors.New("masked: nothing to draw with (nil)")
	}
	if err := made.Check(&m.built, m.fields()); err != nil {
		return errors.WithMessage(err, "masked")
	}
	if len(sources) != len(m.encoder.lengths) {
		return errors.Errorf("got %d sources for a batch of %d", len(sources), len(m.encoder.lengths))
	}
	fits := m.Config.fits()
	for b, source := range sources {
		if err := fits(b, Pair{Source: source}); err != nil {
			return err
		}
	}
	ids, targets := m.Source.Ints(), m.Targets.Ints()
	if err := m.encoder.fill(ids, sources); err != nil {
		return err
	}
	for i := range targets {
		targets[i] = text.Ignore
	}
	for b, n := range m.encoder.lengths {
		row := b * m.Config.SourceSize
		hide := func(i int) { targets[row+i], ids[row+i] = sources[b][i], Hidden }
		hide(rng.IntN(n))
		for i := range n {
			if rng.Float64() < rate {
				hide(i)
			}
		}
	}
	return nil
}
