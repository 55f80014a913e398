package ops

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// RowMax returns the maximum over the last axis, kept with size 1, without a derivative.
func (b *Builder) RowMax(x *G.Node) (*G.Node, error) {
	shape := x.Shape()
	d := shape[len(shape)-1]
	shape[len(shape)-1] = 1
	return b.node(&Op{
		name: "rowmax", shape: shape, wrt: []bool{false}, f32: rowMax[float32](d), f64: rowMax[float64](d),
	}, x)
}

func rowMax[T kernel.Float](d int) body[T] {
	return func(out []T, in [][]T) {
		for i := range out {
			row := in[0][i*d : (i+1)*d]
			out[i] = row[0]
			for _, v := range row[1:] {
				out[i] = max(out[i], v)
			}
		}
	}
}

// ArgMax returns the column of the largest entry of each row of a matrix, the first of equal ones. It skips NaN, and
// also writes the columns to list.
func (b *Builder) ArgMax(x *G.Node, list []int) (*G.Node, error) {
	n, d := x.Shape()[0], x.Shape()[1]
	return b.node(&Op{
		name: "argmax", shape: tensor.Shape{n}, wrt: []bool{false},
		f32: argMax[float32](list, d), f64: argMax[float64](list, d),
	}, x)
}

func argMax[T kernel.Float](list []int, d int) body[T] {
	return func(out []T, in [][]T) {
		for i := range list {
			row, best := in[0][i*d:(i+1)*d], 0
			for j, v := range row {
				if v > row[best] || row[best] != row[best] && v == v {
					best = j
				}
			}
			list[i], out[i] = best, T(best)
		}
	}
}
