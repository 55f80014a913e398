package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ArgMax returns the column of the largest entry of each row, the first of equal ones: (n, d) → (n). It skips NaN. The
// result holds ids below d, as if declared by Scope.Ints, for Gather, OneHot and losses. After a run Ints returns them.
// ArgMax has no derivative.
func (x Expr) ArgMax() Expr {
	var list *tensor.Dense
	y := x.apply("argmax", func() (*G.Node, error) {
		g, shape := x.g, x.node.Shape()
		if len(shape) != 2 {
			return nil, errors.Errorf("got %d axes, want the 2 of a matrix", len(shape))
		}
		n, d := shape[0], shape[1]
		if !g.hold(x.scope, []int{n}, tensor.Int.Size()) {
			return nil, g.err
		}
		var ids []int
		if !g.outline {
			list = tensor.New(tensor.WithShape(n), tensor.Of(tensor.Int))
			ids = list.Ints()
		}
		return g.node(&op{
			name: "argmax", shape: tensor.Shape{n}, wrt: []bool{false},
			f32: argMax[float32](ids, d), f64: argMax[float64](ids, d),
		}, x.node)
	})
	if y.node != nil {
		y.dense, y.shape, y.ids = list, y.node.Shape(), &idRange{limit: x.node.Shape()[1], ignore: NoneIgnored}
	}
	return y
}

// argMax writes the columns to ids and, as floating-point numbers, to out.
func argMax[T kernel.Float](ids []int, d int) body[T] {
	return func(out []T, in [][]T) {
		for i := range ids {
			row, best := in[0][i*d:(i+1)*d], 0
			for j, v := range row {
				if v > row[best] || row[best] != row[best] && v == v {
					best = j
				}
			}
			ids[i], out[i] = best, T(best)
		}
	}
}
