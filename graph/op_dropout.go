package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
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
		if err := checkDropout(p); err != nil {
			return nil, err
		}
		return x.g.dropout(x.node, p, x.g.dropKey(x.scope, p))
	})
}

func checkDropout(p float64) error {
	if !(p >= 0 && p < 1) {
		return errors.Errorf("probability %g is not in 0 ≤ p < 1", p)
	}
	return nil
}

// DropoutMask returns the factors, 0 or 1/(1 − p), that the first dropout of the given scope applies to its n entries.
// The step is that of the last run, or the one set by SetStep. DropoutMask returns nil if p is not in 0 ≤ p < 1, or if
// n is less than 1 or too large for the memory.
func (g *Graph) DropoutMask(scope string, p float64, n int) []float64 {
	if !g.exists() || n < 1 || int64(n) > g.MemoryLimit()/8 || checkDropout(p) != nil {
		return nil
	}
	d := kernel.DropMask{P: p, Key: g.keyOf(scope, 1), Step: g.run.step}
	mask := make([]float64, n)
	for i := range mask {
		mask[i] = d.Factor(i)
	}
	return mask
}

// dropKey returns a separate key for every dropout in a scope, so that their masks differ.
func (g *Graph) dropKey(scope string, p float64) uint64 {
	if p > 0 {
		g.drops[scope]++
	}
	return g.keyOf(scope, g.drops[scope])
}

func (g *Graph) keyOf(scope string, count int) uint64 {
	return hashName(fmt.Sprintf("%d dropout %s %d", g.seed, scope, count))
}

func (g *Graph) dropout(n *G.Node, p float64, key uint64) (*G.Node, error) {
	return g.node(&op{
		name: fmt.Sprintf("dropout(%g,%x)", p, key), shape: n.Shape(),
		f32: drop[float32](g.pool, g.dropMask(p, key)), f64: drop[float64](g.pool, g.dropMask(p, key)),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(g.dropout(grad, p, key)) },
	}, n)
}

// dropMask returns a function that returns the mask for the current run: that of this step, or none in evaluation.
func (g *Graph) dropMask(p float64, key uint64) func() kernel.DropMask {
	return func() kernel.DropMask {
		if !g.run.training {
			return kernel.DropMask{}
		}
		return kernel.DropMask{P: p, Key: key, Step: g.run.step}
	}
}

func drop[T kernel.Float](p *kernel.Pool, d func() kernel.DropMask) body[T] {
	return func(out []T, in [][]T) { kernel.Dropout(p, out, in[0], d()) }
}
