package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	G "gorgonia.org/gorgonia"
)

// sizeOf returns the result of an operation that computes the size of an axis of x, 0 for any other operation.
func sizeOf(op G.Op, x *G.Node) int {
	sizer, ok := op.(G.DimSizer)
	for axis := 0; ok && axis < x.Dims(); axis++ {
		if n, err := sizer.DimSize(axis); err == nil {
			return n
		}
	}
	return 0
}

// stock plans an operation of Gorgonia's.
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

// argument sets argument i of an operation of Gorgonia's to the value of c. No other operation shares its header,
// because a product transposes its operand's axes while it runs.
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

// kernel plans one of our own operations.
func (l *linker) kernel(o *plan.Op, own *op) {
	o.Out, o.Run = own.out, own.link
	for _, b := range own.fills {
		o.Fills = append(o.Fills, b)
	}
	for _, b := range own.uses {
		o.Uses = append(o.Uses, b)
	}
}

// isSum reports whether n is Gorgonia's addition of two tensors, such as that of two gradients of one node.
func (g *Graph) isSum(n *G.Node, children G.Nodes) bool {
	if !g.Kernels || len(children) != 2 || n.IsScalar() || n.Dtype() != g.dtype {
		return false
	}
	a, b := children[0], children[1]
	return a.Shape().Eq(n.Shape()) && b.Shape().Eq(n.Shape()) && n.Op() == G.NewAddOp(a, b, G.ExecutionContext{}).Op
}
