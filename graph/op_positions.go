package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// AddPositions is the kernel of c·x + table.Gather(ids): x (n, d), table (v, d), ids (n).
func AddPositions(x, table, ids Expr, c float64) (y Expr, ok bool) {
	return x.kernel("add positions", func() (*G.Node, error) {
		if err := ids.ids.check(table.node.Shape()[0], "rows"); err != nil {
			return nil, err
		}
		ids.ids.isLookup = true
		g, shape, list := x.g, x.node.Shape(), ids.Ints()
		d := table.node.Shape()[1]
		if len(shape) != 2 || shape[0] != len(list) || shape[1] != d {
			return nil, errors.Errorf("%v is not (%d, %d)", shape, len(list), d)
		}
		return g.node(&op{
			name: fmt.Sprintf("addpositions(%g)", c), shape: shape.Clone(), wrt: []bool{true, true, false},
			f32: addPositions[float32](list, d, c), f64: addPositions[float64](list, d, c),
			diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				dx, err := g.scale(grad, c)
				if err != nil {
					return nil, err
				}
				dtable, err := g.scatter("addpositions.dtable", in[1].Shape(), grad, list)
				return G.Nodes{dx, dtable}, err
			},
		}, x.node, table.node, ids.node)
	}, table, ids)
}

func addPositions[T kernel.Float](ids []int, d int, c float64) body[T] {
	return func(y []T, in [][]T) error { kernel.AddPositions(y, in[0], in[1], ids, d, T(c)); return nil }
}
