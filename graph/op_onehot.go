package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// OneHot is the matrix whose row i is 1 in column ids[i] and 0 elsewhere; a row whose id is the ignored one is all 0:
// (n) → (n, classes).
func (ids Expr) OneHot(classes int) Expr {
	return ids.apply("one-hot", func() (*G.Node, error) {
		if err := ids.ids.check(classes, "classes"); err != nil {
			return nil, err
		}
		list := ids.Ints()
		return ids.g.node(&op{
			name: "onehot", shape: tensor.Shape{len(list), classes}, wrt: []bool{false},
			f32: oneHot[float32](list, classes, ids.ids.ignore), f64: oneHot[float64](list, classes, ids.ids.ignore),
		}, ids.node)
	})
}

func oneHot[T kernel.Float](ids []int, classes, ignore int) body[T] {
	return func(out []T, _ [][]T) error {
		clear(out)
		for i, id := range ids {
			if id != ignore {
				out[i*classes+id] = 1
			}
		}
		return nil
	}
}
