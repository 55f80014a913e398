package graph

import (
	"cmp"
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Dropout returns inverted dropout: while training, entry i is 0 with probability p, else divided by 1 − p (errata D4);
// in evaluation it is the identity. The mask is a function of the Graph's seed, x's scope and the number of earlier
// dropouts there, the step and i. So nothing is stored, a resumed run drops the same entries as an uninterrupted one,
// and so do the reference and the kernel form of a model. It is an error unless 0 ≤ p < 1. The stock Dropout divides
// its gradient by p instead of 1 − p, is seeded by the clock and merges with its twins.
func (x Expr) Dropout(p float64) Expr {
	if p == 0 || x.g == nil {
		return x
	}
	return x.apply(fmt.Sprintf("dropout(%g)", p), func() (*G.Node, error) {
		d, err := x.g.drop(x.scope, p)
		if err != nil {
			return nil, err
		}
		return x.g.ops.Dropout(x.node, d)
	})
}

// drop returns the next dropout of a scope. Each has its own key, so that their masks differ.
func (g *Graph) drop(scope string, p float64) (ops.Drop, error) {
	if err := checkDropout(p); err != nil {
		return ops.Drop{}, err
	}
	if p > 0 {
		g.drops[scope]++
	}
	return ops.Drop{P: p, Key: g.dropKey(scope, g.drops[scope])}, nil
}

func checkDropout(p float64) error {
	if !(p >= 0 && p < 1) {
		return errors.Errorf("probability %g is not in 0 ≤ p < 1", p)
	}
	return nil
}

func (g *Graph) dropKey(scope string, count int) uint64 {
	return hashName(fmt.Sprintf("%d dropout %s %d", g.seed, scope, count))
}

// DropoutMask returns the factors, 0 or 1/(1 − p), that the first dropout of the given scope applies to its n entries.
// The step is the last run's, or the one set by SetStep. DropoutMask returns nil if p is not in 0 ≤ p < 1, or if
// n is less than 1 or too large for the memory.
func (g *Graph) DropoutMask(scope string, p float64, n int) []float64 {
	if !g.exists() || n < 1 || checkDropout(p) != nil {
		return nil
	}
	if bytes := 8 * float64(n); bytes > float64(cmp.Or(g.limit, little)) && bytes > float64(g.MemoryLimit()) {
		return nil
	}
	d := kernel.DropMask{P: p, Key: g.dropKey(scope, 1), Step: g.ops.Run.Step()}
	mask := make([]float64, n)
	for i := range mask {
		mask[i] = d.Factor(i)
	}
	return mask
}
