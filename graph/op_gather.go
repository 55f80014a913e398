package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Gather returns the kernel of Expr.Gather: row i of y is row ids[i] of table (v, d), and the gradient of the table
// adds up the rows of Δ over equal ids.
func Gather(table, ids Expr) (y Expr, ok bool) {
	if m := table.g.packed(table); m != nil && m.transposed {
		return ids.kernel("gather", func() (*G.Node, error) { return ids.packedRows(m) })
	}
	return table.kernel("gather", func() (*G.Node, error) { return table.gather(ids) }, ids)
}

// packedRows returns rows of a packed table, which is not an operand of the graph.
func (ids Expr) packedRows(table *packedMatrix) (*G.Node, error) {
	if err := ids.ids.check(table.N, "rows"); err != nil {
		return nil, err
	}
	ids.ids.isLookup = true
	d, list := table.K, ids.Ints()
	return ids.g.node(&op{
		name: "packed gather", shape: tensor.Shape{ids.count(), d}, wrt: []bool{false},
		f32: func(y []float32, _ [][]float32) {
			for i, id := range list {
				table.Column(y[i*d:(i+1)*d], id)
			}
		},
	}, ids.node)
}

func (table Expr) gather(ids Expr) (*G.Node, error) {
	if s := table.node.Shape(); len(s) != 2 {
		return nil, errors.Errorf("got a table %v, want (v, d)", s)
	}
	if err := ids.ids.check(table.node.Shape()[0], "rows"); err != nil {
		return nil, err
	}
	ids.ids.isLookup = true
	d, n, list := table.node.Shape()[1], ids.count(), ids.Ints()
	return table.g.node(&op{
		name: "gather", shape: tensor.Shape{n, d}, wrt: []bool{true, false},
		f32: gather[float32](table.g.pool, list, d), f64: gather[float64](table.g.pool, list, d),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			return one(table.g.scatter("gather.dtable", in[0].Shape(), grad, ids))
		},
	}, table.node, ids.node)
}

// scatter returns the gradient of a table: the sum of Δ over equal ids.
func (g *Graph) scatter(name string, table tensor.Shape, grad *G.Node, ids Expr) (*G.Node, error) {
	list := ids.Ints()
	return g.node(&op{
		name: name, shape: table, rows: ids,
		f32: scatter[float32](g.pool, list, table[1]), f64: scatter[float64](g.pool, list, table[1]),
	}, grad)
}

// addRows returns the body that adds another gradient and the one that a scatter would compute.
func addRows[T kernel.Float](p *kernel.Pool, ids []int, table tensor.Shape) body[T] {
	var rows *kernel.Rows[T]
	return func(sum []T, in [][]T) {
		if rows == nil {
			rows = kernel.NewRows[T](table[0], len(ids), table[1])
		}
		kernel.AddRows(p, sum, in[0], in[1], ids, rows)
	}
}

func gather[T kernel.Float](p *kernel.Pool, ids []int, d int) body[T] {
	return func(y []T, in [][]T) { kernel.Gather(p, y, in[0], ids, d) }
}

func scatter[T kernel.Float](p *kernel.Pool, ids []int, d int) body[T] {
	return func(dtable []T, in [][]T) { kernel.ScatterAdd(p, dtable, in[0], ids, d) }
}

// GatherCols returns the kernel of the join of several Cols: column c of y is column order[c] of x (n, d), or 0 if
// order[c] is −1. A column may appear more than once; its gradient is the sum.
func GatherCols(x Expr, order []int) (y Expr, ok bool) {
	return x.kernel("gather columns", func() (*G.Node, error) {
		g, shape := x.g, x.node.Shape()
		if len(shape) != 2 {
			return nil, errors.New("want a matrix")
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
					f32: gatherColsBackward[float32](g.pool, order, d),
					f64: gatherColsBackward[float64](g.pool, order, d),
				}, grad))
			},
		}, x.node)
	})
}

func gatherCols[T kernel.Float](p *kernel.Pool, order []int, d int) body[T] {
	return func(y []T, in [][]T) { kernel.GatherCols(p, y, in[0], order, d) }
}

func gatherColsBackward[T kernel.Float](p *kernel.Pool, order []int, d int) body[T] {
	return func(dx []T, in [][]T) { kernel.GatherColsBackward(p, dx, in[0], order, d) }
}
