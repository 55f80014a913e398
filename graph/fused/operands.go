package fused

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
)

// present returns the expressions that are not empty.
func present(optional ...graph.Expr) (list []graph.Expr) {
	for _, x := range optional {
		if x.Graph() != nil {
			list = append(list, x)
		}
	}
	return list
}

// operands returns the nodes of expressions.
func operands(list ...graph.Expr) []*ops.Node {
	nodes := make([]*ops.Node, len(list))
	for i, x := range list {
		nodes[i] = x.Operand()
	}
	return nodes
}

// count returns the number of integers that x holds.
func count(x graph.Expr) int {
	n, _, _ := x.Integers()
	return n
}

// lookUp returns the integers of ids as indices of n rows, which an operation looks up. Then none may be ignored.
func lookUp(ids graph.Expr, n int, things string) (ops.IDs, error) {
	if err := ids.CheckIDs(n, things); err != nil {
		return ops.IDs{}, err
	}
	ids.RequireIDs()
	return ids.IDs(), nil
}
