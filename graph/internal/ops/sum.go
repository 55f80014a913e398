package ops

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// IsSum reports whether n is Gorgonia's addition of two tensors, such as two gradients of one node.
func (b *Builder) IsSum(n *G.Node, children G.Nodes) bool {
	if len(children) != 2 || n.IsScalar() || n.Dtype() != b.Dtype {
		return false
	}
	x, y := children[0], children[1]
	return x.Shape().Eq(n.Shape()) && y.Shape().Eq(n.Shape()) && n.Op() == G.NewAddOp(x, y, G.ExecutionContext{}).Op
}

// HasFewRows reports whether n is the gradient of a table of which only some rows are not 0.
func HasFewRows(n *G.Node) bool {
	o, ours := n.Op().(*Op)
	return ours && o.rows != nil
}

// PlanSum plans the sum of two tensors in place of Gorgonia's. If few is not nil, it is a gradient with few rows, which
// is not computed: its rows are added in the memory of the other one, and the sum reads the operand of few instead.
func (b *Builder) PlanSum(p *plan.Op, shape tensor.Shape, few *G.Node) {
	o := &Op{
		dtype: b.Dtype, out: &buffer{size: shape.TotalSize()}, f32: add[float32](b.Pool), f64: add[float64](b.Pool),
	}
	if few != nil {
		ids := few.Op().(*Op).rows.List
		o.f32, o.f64 = addRows[float32](b.Pool, ids, shape), addRows[float64](b.Pool, ids, shape)
	}
	o.Plan(p)
}

// PlanStock plans one of Gorgonia's own operations with a result of the graph's type.
func PlanStock(p *plan.Op, n *G.Node) { p.Out = &buffer{size: n.Shape().TotalSize()} }

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
