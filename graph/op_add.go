package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// addKernel returns the kernel of Expr.Add for equal shapes: the stock addition allocates its result in every run.
func addKernel(x, y Expr) (z Expr, ok bool) {
	if x.node == nil || y.node == nil || !x.node.Shape().Eq(y.node.Shape()) {
		return Expr{}, false
	}
	return x.kernel("add", func() (*G.Node, error) {
		return x.g.node(&op{
			name: "add", shape: x.node.Shape(), f32: add[float32](x.g.pool), f64: add[float64](x.g.pool),
			diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) { return G.Nodes{grad, grad}, nil },
		}, x.node, y.node)
	}, y)
}

func add[T kernel.Float](p *kernel.Pool) body[T] {
	return func(out []T, in [][]T) { kernel.Add(p, out, in[0], in[1]) }
}

// Scale returns the kernel of Expr.Scale, c·x.
func Scale(x Expr, c float64) (y Expr, ok bool) {
	return x.kernel(fmt.Sprintf("scale by %.4g", c), func() (*G.Node, error) { return x.g.scale(x.node, c) })
}

func (g *Graph) scale(n *G.Node, c float64) (*G.Node, error) {
	if c == 1 {
		return n, nil
	}
	return g.node(&op{
		name: fmt.Sprintf("scale(%g)", c), shape: n.Shape(), f32: scale[float32](c), f64: scale[float64](c),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(g.scale(grad, c)) },
	}, n)
}

func scale[T kernel.Float](c float64) body[T] {
	return func(y []T, in [][]T) { kernel.Scale(y, in[0], T(c)) }
}
