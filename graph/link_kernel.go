package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	G "gorgonia.org/gorgonia"
)

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
