package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Gather is the kernel of Rows: row i of y is row ids[i] of table (v, d), and the gradient of the table adds up the rows
// of Δ over equal ids.
func Gather(table, ids Expr) (y Expr, ok bool) {
	if !table.fused() {
		return Expr{}, false
	}
	return table.apply("rows", func() (*G.Node, error) { return table.gather(ids) }, ids), true
}

func (table Expr) gather(ids Expr) (*G.Node, error) {
	if err := ids.ids.check(table.node.Shape()[0], "rows"); err != nil {
		return nil, err
	}
	ids.ids.looked = true
	g, d, list := table.g, table.node.Shape()[1], ids.Ints()
	return g.node(&op{
		name: "gather", shape: tensor.Shape{len(list), d}, wrt: []bool{true, false},
		f32: gather[float32](list, d), f64: gather[float64](list, d),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			dtable, err := g.node(&op{
				name: "gather.dtable", shape: in[0].Shape().Clone(),
				f32: scatter[float32](list, d), f64: scatter[float64](list, d),
			}, grad)
			return G.Nodes{dtable, nil}, err
		},
	}, table.node, ids.node)
}

func gather[T kernel.Float](ids []int, d int) body[T] {
	return func(y []T, in [][]T) error { kernel.Gather(y, in[0], ids, d); return nil }
}

func scatter[T kernel.Float](ids []int, d int) body[T] {
	return func(dtable []T, in [][]T) error { kernel.ScatterAdd(dtable, in[0], ids, d); return nil }
}
