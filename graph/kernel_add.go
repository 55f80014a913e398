package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// addKernel is x + y of equal shapes into a buffer of its own: the stock addition allocates its result in every run.
func (x Expr) addKernel(y Expr) Expr {
	return x.apply("add", func() (*G.Node, error) {
		return x.g.node(&op{
			name: "add", shape: x.node.Shape().Clone(), scalar: x.node.IsScalar(), f32: add[float32](x.g.pool), f64: add[float64](x.g.pool),
			diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) { return G.Nodes{grad, grad}, nil },
		}, x.node, y.node)
	}, y)
}

func add[T kernel.Float](p *kernel.Pool) body[T] {
	return func(out []T, in [][]T) error { kernel.Add(p, out, in[0], in[1]); return nil }
}
