package ops

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// Drop is a dropout: its probability, and the key of its masks.
type Drop struct {
	P   float64
	Key uint64
}

// Dropout returns inverted dropout: while training, an entry is 0 with probability P, else divided by 1 − P.
func (b *Builder) Dropout(x *G.Node, d Drop) (*G.Node, error) {
	return b.node(&Op{
		name: fmt.Sprintf("dropout(%g,%x)", d.P, d.Key), shape: x.Shape(),
		f32: drop[float32](b.Pool, b.mask(d)), f64: drop[float64](b.Pool, b.mask(d)),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(b.Dropout(grad, d)) },
	}, x)
}

// mask returns a function that returns the mask for the current run: this step's, or none in evaluation.
func (b *Builder) mask(d Drop) func() kernel.DropMask {
	return func() kernel.DropMask {
		if !b.Run.Training.Load() {
			return kernel.DropMask{}
		}
		return kernel.DropMask{P: d.P, Key: d.Key, Step: b.Run.step}
	}
}

func drop[T kernel.Float](p *kernel.Pool, mask func() kernel.DropMask) body[T] {
	return func(out []T, in [][]T) { kernel.Dropout(p, out, in[0], mask()) }
}
