package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Reshape is the same numbers under another shape. It copies: the stock one shares memory with its input, which
// Gorgonia's machine overwrites in place, so that x + f(reshape(x)) comes out wrong there.
func (x Expr) Reshape(shape ...int) Expr {
	return x.apply(fmt.Sprintf("reshape to %v", tensor.Shape(shape)), func() (*G.Node, error) {
		return x.g.reshape(x.node, shape)
	})
}

func (g *Graph) reshape(n *G.Node, shape tensor.Shape) (*G.Node, error) {
	if n.Shape().TotalSize() != shape.TotalSize() {
		return nil, errors.Errorf("%d entries cannot become %d", n.Shape().TotalSize(), shape.TotalSize())
	}
	return g.node(&op{
		name: "reshape", shape: shape.Clone(),
		f32: copyAll[float32], f64: copyAll[float64],
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(g.reshape(grad, in[0].Shape())) },
	}, n)
}

func copyAll[T kernel.Float](out []T, in [][]T) error { copy(out, in[0]); return nil }

func one(n *G.Node, err error) (G.Nodes, error) { return G.Nodes{n}, err }
