package gpt

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
	"github.com/pkg/errors"
)

// hasOwn reports whether the network has a user-defined part. The tests of the library check its own parts.
func (p plan) hasOwn() bool {
	return p.Stack.HasOwn(p.Parts) || slices.Contains(parts.Names(p.Parts.Heads), p.Head)
}

// checkCausal refuses a network with a user-defined part that looks ahead, unless its Registry declares it
// Bidirectional. Texts must not influence one another in any case. It computes on a separate graph and adds noise to
// the weights, because weights that begin at 0 would hide a layer.
func (c Config) checkCausal() error {
	p := c.planned()
	if !p.hasOwn() {
		return nil
	}
	p = p.targeted()
	return twoTexts(func(batch int) error {
		for _, perturb := range []func(*graph.Graph){causal.Perturb, func(*graph.Graph) {}} {
			_, err := graph.Build(graph.Float32, c.Seed, func(g *graph.Graph) error {
				c.Configure(g)
				m := p.causalModel(g, batch)
				if err := g.Err(); err != nil {
					return err
				}
				perturb(g)
				return causal.Check(m)
			})
			if !errors.Is(err, graph.ErrNotFinite) {
				return err
			}
		}
		return nil // the first step reports the loss that is not finite
	})
}

// checkCausal refuses a model that looks ahead with its present weights, as Config.checkCausal does.
func (m *Model) checkCausal(bidirectional bool) error {
	if !m.plan.hasOwn() || m.Graph.Edited() {
		return nil
	}
	p := m.plan
	p.Parts.Bidirectional = bidirectional
	return twoTexts(func(batch int) error {
		_, err := m.Graph.BuildSibling(func(g *graph.Graph) error {
			return causal.Check(p.causalModel(g, batch))
		})
		if errors.Is(err, graph.ErrNotFinite) {
			return nil
		}
		return err
	})
}

// twoTexts calls check with a batch of two texts, or of one if two cannot be built, for lack of memory for example.
func twoTexts(check func(batch int) error) error {
	err := check(2)
	if leak := (*causal.Leak)(nil); err == nil || errors.As(err, &leak) {
		return err
	}
	return check(1)
}

// causalModel builds the network without its loss.
func (p plan) causalModel(g *graph.Graph, batch int) causal.Model {
	s := g.Root()
	tokens := s.Ints("tokens", batch*p.BlockSize, p.VocabSize, graph.NoneIgnored)
	net := newStack(p.site(s, batch, parts.Places(s, batch, p.BlockSize)), p)
	return causal.Model{
		Input: tokens, Output: net.Predict(net.Forward(tokens)), Batch: batch, Vocabulary: p.VocabSize,
		Bidirectional: p.Parts.Bidirectional,
	}
}
