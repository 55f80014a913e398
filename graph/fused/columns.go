package fused

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
)

// Scale returns the kernel of Expr.Scale, c·x.
func Scale(x graph.Expr, c float64) (y graph.Expr, ok bool) {
	return x.Kernel(fmt.Sprintf("scale by %.4g", c), func(g *ops.Builder) (*ops.Node, error) {
		return g.Scale(x.Operand(), c)
	})
}

// GatherCols returns the kernel of the join of several Cols: column c of y is column order[c] of x (n, d), or 0 if
// order[c] is −1. A column may appear more than once; its gradient is the sum.
func GatherCols(x graph.Expr, order []int) (y graph.Expr, ok bool) {
	return x.Kernel("gather columns", func(g *ops.Builder) (*ops.Node, error) {
		shape := x.Operand().Shape()
		if len(shape) != 2 {
			return nil, errors.New("want a matrix")
		}
		for _, c := range order {
			if c < -1 || c >= shape[1] {
				return nil, errors.Errorf("column %d of %d", c, shape[1])
			}
		}
		return g.GatherCols(x.Operand(), order)
	})
}
