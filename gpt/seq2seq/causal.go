package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
	"github.com/pkg/errors"
)

// checkCausal refuses a network with a user-defined part if a target's token sees later ones, unless its Registry is
// Bidirectional, or if one pair of a batch influences another. Sources are completely visible. With perturb it adds
// noise to the weights, so that no layer is hidden by weights that begin at 0. A result that is not finite is left to
// the first loss.
func (c Config) checkCausal(g *graph.Graph, perturb bool) error {
	if c = c.Resolved(); !c.HasOwn(c.Parts) {
		return nil
	}
	g.SetMemoryLimit(c.Limit())
	_, err := g.BuildSibling(func(g *graph.Graph) error {
		m := c.declare(g, 2)
		if perturb {
			causal.Perturb(g)
		}
		err := causal.Check(causal.Model{
			Input: m.Input, Output: m.Logits, Batch: 2, Vocabulary: c.TargetVocab, Bidirectional: c.Parts.Bidirectional,
		})
		if err != nil {
			return err
		}
		return causal.Check(causal.Model{
			Input: m.Source, Output: m.Logits, Batch: 2, Vocabulary: c.SourceVocab, Bidirectional: true,
		})
	})
	if errors.Is(err, graph.ErrNotFinite) {
		return nil
	}
	return err
}
