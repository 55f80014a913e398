package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// SquaredError is the kernel of Σ w(x − y)²/Σ w, a scalar, for x, y and w (n, 1). It is differentiated by x alone.
func SquaredError(x, y, weights Expr) (loss Expr, ok bool) {
	return x.kernel("squared error", func() (*G.Node, error) {
		n, g := x.node.Shape().TotalSize(), x.g
		for _, e := range []Expr{y, weights} {
			if got := e.node.Shape().TotalSize(); got != n {
				return nil, errors.Errorf("%d numbers beside %d", got, n)
			}
		}
		return g.node(&op{
			name: "squarederror", scalar: true, wrt: []bool{true, false, false}, f32: squaredError[float32], f64: squaredError[float64],
			diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				return one(g.node(&op{
					name: "squarederror.dx", shape: in[0].Shape().Clone(), f32: squaredErrorBackward[float32], f64: squaredErrorBackward[float64],
				}, in[0], in[1], in[2], grad))
			},
		}, x.node, y.node, weights.node)
	}, y, weights)
}

func squaredError[T kernel.Float](out []T, in [][]T) error {
	out[0] = T(kernel.SquaredError(in[0], in[1], in[2]))
	return nil
}

func squaredErrorBackward[T kernel.Float](dx []T, in [][]T) error {
	kernel.SquaredErrorBackward(dx, in[0], in[1], in[2], in[3][0])
	return nil
}
