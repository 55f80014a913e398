package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Arrange is the kernel of many Cols joined: column c of y is column order[c] of x (n, d), or 0 where that is −1. A column
// may be named more than once; its gradient is the sum.
func Arrange(x Expr, order []int) (y Expr, ok bool) {
	if !x.fused() {
		return Expr{}, false
	}
	return x.apply("arrange", func() (*G.Node, error) {
		g, shape := x.g, x.node.Shape()
		if len(shape) != 2 {
			return nil, errors.New("a matrix is needed")
		}
		n, d := shape[0], shape[1]
		for _, c := range order {
			if c < -1 || c >= d {
				return nil, errors.Errorf("column %d of %d", c, d)
			}
		}
		return g.node(&op{
			name: "arrange", shape: tensor.Shape{n, len(order)},
			f32: arrange[float32](g.pool, order, d), f64: arrange[float64](g.pool, order, d),
			diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				return one(g.node(&op{
					name: "arrange.dx", shape: tensor.Shape{n, d},
					f32: arrangeBackward[float32](g.pool, order, d), f64: arrangeBackward[float64](g.pool, order, d),
				}, grad))
			},
		}, x.node)
	}), true
}

func arrange[T kernel.Float](p *kernel.Pool, order []int, d int) body[T] {
	return func(y []T, in [][]T) error { kernel.Arrange(p, y, in[0], order, d); return nil }
}

func arrangeBackward[T kernel.Float](p *kernel.Pool, order []int, d int) body[T] {
	return func(dx []T, in [][]T) error { kernel.ArrangeBackward(p, dx, in[0], order, d); return nil }
}
