package fused

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
)

// AddPositions returns the kernel of c·x + table.Gather(ids): x (n, d), table (v, d), ids (n).
func AddPositions(x, table, ids graph.Expr, c float64) (y graph.Expr, ok bool) {
	return x.Kernel("add positions", func(g *ops.Builder) (*ops.Node, error) {
		list, err := lookUp(ids, table.Operand().Shape()[0], "rows")
		if err != nil {
			return nil, err
		}
		shape, n, d := x.Operand().Shape(), count(ids), table.Operand().Shape()[1]
		if len(shape) != 2 || shape[0] != n || shape[1] != d {
			return nil, errors.Errorf("%v is not (%d, %d)", shape, n, d)
		}
		if err := table.Reserve(n); err != nil {
			return nil, err
		}
		return g.AddPositions(x.Operand(), table.Operand(), list, c)
	}, table.ByRule(), ids)
}

// Rotate returns the kernel of rotary positions. In the first groups·size columns of x (n, ≥ groups·size) it rotates
// each group separately: columns 2i and 2i+1 of a group by the angle φ of row positions[row] and column i of the tables
// cos and sin (T, size/2):
//
//	(a, b) → (a·cos φ − b·sin φ, a·sin φ + b·cos φ)
//
// It leaves the other columns unchanged. The backward pass rotates Δ by −φ.
func Rotate(x, cos, sin, positions graph.Expr, groups int) (y graph.Expr, ok bool) {
	return x.Kernel("rotate", func(g *ops.Builder) (*ops.Node, error) {
		table, n := cos.Operand().Shape(), count(positions)
		if len(table) != 2 || !table.Eq(sin.Operand().Shape()) {
			return nil, errors.Errorf("got cosines %v and sines %v, want two matrices of one shape",
				table, sin.Operand().Shape())
		}
		list, err := lookUp(positions, table[0], "positions")
		if err != nil {
			return nil, err
		}
		shape := x.Operand().Shape()
		if len(shape) != 2 || shape[0] != n || groups < 1 || shape[1] < groups*2*table[1] {
			return nil, errors.Errorf("%v is not (%d, %d or more): %d positions, %d groups of %d columns",
				shape, n, groups*2*table[1], n, groups, 2*table[1])
		}
		if err := cmp.Or(cos.Reserve(n), sin.Reserve(n)); err != nil {
			return nil, err
		}
		return g.Rotate(x.Operand(), cos.Operand(), sin.Operand(), list, groups, false)
	}, cos.ByRule(), sin.ByRule(), positions)
}
