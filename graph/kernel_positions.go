package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// AddRows is the kernel of c·x + Rows(table, ids), what positions do to activations: x (n, d), table (v, d), ids (n).
func AddRows(x, table, ids Expr, c float64) (y Expr, ok bool) {
	if !x.fused() {
		return Expr{}, false
	}
	return x.apply("add rows", func() (*G.Node, error) {
		if err := ids.ids.check(table.node.Shape()[0], "rows"); err != nil {
			return nil, err
		}
		ids.ids.looked = true
		g, shape, list := x.g, x.node.Shape(), ids.Ints()
		d := table.node.Shape()[1]
		if len(shape) != 2 || shape[0] != len(list) || shape[1] != d {
			return nil, errors.Errorf("%v is not (%d, %d)", shape, len(list), d)
		}
		return g.node(&op{
			name: fmt.Sprintf("addrows(%g)", c), shape: shape.Clone(), wrt: []bool{true, true, false},
			f32: addRows[float32](list, d, c), f64: addRows[float64](list, d, c),
			diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
				dx, err := g.times(grad, c)
				if err != nil {
					return nil, err
				}
				dtable, err := g.node(&op{
					name: "addrows.dtable", shape: in[1].Shape().Clone(),
					f32: scatter[float32](list, d), f64: scatter[float64](list, d),
				}, grad)
				return G.Nodes{dx, dtable, nil}, err
			},
		}, x.node, table.node, ids.node)
	}, table, ids), true
}

func addRows[T kernel.Float](ids []int, d int, c float64) body[T] {
	return func(y []T, in [][]T) error { kernel.AddRows(y, in[0], in[1], ids, d, T(c)); return nil }
}

// Times is the kernel of Scale, c·x.
func Times(x Expr, c float64) (y Expr, ok bool) {
	if !x.fused() {
		return Expr{}, false
	}
	return x.apply(fmt.Sprintf("scale by %.4g", c), func() (*G.Node, error) { return x.g.times(x.node, c) }), true
}

func (g *Graph) times(n *G.Node, c float64) (*G.Node, error) {
	if c == 1 {
		return n, nil
	}
	return g.node(&op{
		name: fmt.Sprintf("times(%g)", c), shape: n.Shape().Clone(), f32: times[float32](c), f64: times[float64](c),
		diff: func(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) { return one(g.times(grad, c)) },
	}, n)
}

func times[T kernel.Float](c float64) body[T] {
	return func(y []T, in [][]T) error { kernel.Times(y, in[0], T(c)); return nil }
}
