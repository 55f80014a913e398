package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// GatherCols is the kernel of many Cols joined: column c of y is column order[c] of x (n, d), or 0 where that is −1. A
// column may be named more than once; its gradient is the sum.
func GatherCols(x Expr, order []int) (y Expr, ok bool) {
	return x.kernel("gather columns", func() (*G.Node, error) {
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
			name: "gathercols", shape: tensor.Shape{n, len(order)},
			f32: gatherCols[float32](g.pool, order, d), f64: gatherCols[float64](g.pool, order, d),
			diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				return one(g.node(&op{
					name: "gathercols.dx", shape: tensor.Shape{n, d},
					f32: gatherColsBackward[float32](g.pool, order, d), f64: gatherColsBackward[float64](g.pool, order, d),
				}, grad))
			},
		}, x.node)
	})
}

func gatherCols[T kernel.Float](p *kernel.Pool, order []int, d int) body[T] {
	return func(y []T, in [][]T) error { kernel.GatherCols(p, y, in[0], order, d); return nil }
}

func gatherColsBackward[T kernel.Float](p *kernel.Pool, order []int, d int) body[T] {
	return func(dx []T, in [][]T) error { kernel.GatherColsBackward(p, dx, in[0], order, d); return nil }
}
