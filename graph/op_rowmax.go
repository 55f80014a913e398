package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// RowMax is the maximum over the last axis, kept with size 1, as a constant for differentiation. The stock softmax
// starts its maximum at the tensor's very first entry and skips column 0.
func (x Expr) RowMax() Expr {
	return x.apply("row max", func() (*G.Node, error) {
		shape := x.node.Shape().Clone()
		d := shape[len(shape)-1]
		shape[len(shape)-1] = 1
		return x.g.node(&op{
			name: "rowmax", shape: shape, wrt: []bool{false}, f32: rowMax[float32](d), f64: rowMax[float64](d),
		}, x.node)
	})
}

func rowMax[T kernel.Float](d int) body[T] {
	return func(out []T, in [][]T) error {
		for i := range out {
			row := in[0][i*d : (i+1)*d]
			out[i] = row[0]
			for _, v := range row[1:] {
				out[i] = max(out[i], v)
			}
		}
		return nil
	}
}
