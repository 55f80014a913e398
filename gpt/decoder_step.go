package gpt

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// stepProgram computes n new tokens of every sequence from the caches of those before.
type stepProgram struct {
	n                     int
	tokens, positions, at graph.Expr
	hidden                *graph.Program // fills the caches, leaves out the head
	logits                *graph.Program // nil for more than one token
}

// newStepProgram is nil for a model with a layer that cannot take the newest tokens alone.
func newStepProgram(m *Model, batch, n int, caches nn.Caches) (s *stepProgram, err error) {
	_, err = m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.SetTraining(false)
		c, root := m.Config, g.Root()
		s = &stepProgram{
			n:         n,
			tokens:    root.Ints("tokens", batch*n, c.VocabSize, 0),
			positions: root.Ints("positions", batch*n, c.BlockSize, 0),
			at:        root.Ints("at", 1, c.BlockSize, 0),
		}
		at := site(root, c, batch, s.positions)
		at.Caches = caches
		net := newStack(at, c)
		if err := g.Err(); err != nil || !net.cached() {
			s = nil
			return err
		}
		hidden := net.Step(s.tokens, s.at)
		logits := net.predict(hidden)
		if s.hidden, err = graph.Compile(hidden); err != nil || n > 1 {
			return err
		}
		s.logits, err = graph.Compile(logits)
		return err
	})
	return s, err
}
