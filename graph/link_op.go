package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	G "gorgonia.org/gorgonia"
)

// sizeOf is what an operation answers that asks for the size of an axis of x, 0 of any other.
func sizeOf(op G.Op, x *G.Node) int {
	asks, ok := op.(G.DimSizer)
	for axis := 0; ok && axis < x.Dims(); axis++ {
		if n, err := asks.DimSize(axis); err == nil {
			return n
		}
	}
	return 0
}

// stock makes a turn of an operation of Gorgonia's.
func (l *linker) stock(o *plan.Op, n *G.Node, children G.Nodes) {
	planned := n.Dtype() == l.g.dtype
	if planned {
		o.Out = &buffer{size: n.Shape().TotalSize()}
	} else {
		l.kept[n] = new(G.Value)
	}
	o.Once = !pure(n.Op())
	o.Run = func(out plan.Numbers, in []plan.Numbers) func() error {
		s := &stockOp{op: n.Op(), args: make([]G.Value, len(children)), shape: n.Shape(), to: out, kept: l.kept[n]}
		if planned && !n.IsScalar() {
			s.out = valueIn(out, s.shape)
		}
		for i, c := range children {
			l.argument(s, i, c, in[i])
		}
		return s.run
	}
}

// argument hands the value of c to a turn of an operation of Gorgonia's, under a header that no other turn has: a
// product turns the axes of an operand around while it runs.
func (l *linker) argument(s *stockOp, i int, c *G.Node, numbers plan.Numbers) {
	_, leaf := l.g.leafOf(c)
	kept := l.kept[c]
	switch {
	case kept != nil:
		s.before = append(s.before, func() { s.args[i] = *kept })
	case l.ops[c].Run == nil && c.Value() != nil && (!leaf || c.Dtype() != l.g.dtype):
		s.before = append(s.before, func() { s.args[i] = c.Value() })
	case !c.IsScalar():
		s.args[i] = valueIn(numbers, c.Shape())
	case numbers.F32 != nil:
		v := new(G.F32)
		s.args[i] = v
		s.before = append(s.before, func() { *v = G.F32(numbers.F32[0]) })
	case numbers.F64 != nil:
		v := new(G.F64)
		s.args[i] = v
		s.before = append(s.before, func() { *v = G.F64(numbers.F64[0]) })
	}
}

// kernel makes a turn of an operation of ours.
func (l *linker) kernel(o *plan.Op, own *op) {
	o.Out, o.Run = own.out, own.link
	for _, b := range own.fills {
		o.Fills = append(o.Fills, b)
	}
	for _, b := range own.uses {
		o.Uses = append(o.Uses, b)
	}
}

// isSum recognises Gorgonia's addition of two tensors, such as that of gradients that meet.
func (g *Graph) isSum(n *G.Node, children G.Nodes) bool {
	if !g.Kernels || len(children) != 2 || n.IsScalar() || n.Dtype() != g.dtype {
		return false
	}
	a, b := children[0], children[1]
	return a.Shape().Eq(n.Shape()) && b.Shape().Eq(n.Shape()) && n.Op() == G.NewAddOp(a, b, G.ExecutionContext{}).Op
}
