package graph

import (
	"fmt"

	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Reshape returns the same numbers in another shape. It copies: the stock operation shares memory with its input, which
// Gorgonia's machine overwrites in place, so that x + f(reshape(x)) comes out wrong there.
func (x Expr) Reshape(shape ...int) Expr {
	return x.apply(fmt.Sprintf("reshape to %v", tensor.Shape(shape)), func() (*G.Node, error) {
		if have, want := x.node.Shape().TotalSize(), tensor.Shape(shape).TotalSize(); have != want {
			return nil, errors.Errorf("%d entries cannot become %d", have, want)
		}
		return x.g.ops.Reshape(x.node, shape)
	})
}

// Transpose returns x with its axes reordered.
func (x Expr) Transpose(axes ...int) Expr {
	return x.apply("transpose", func() (*G.Node, error) { return G.Transpose(x.node, axes...) })
}

// Detach returns x as a constant for differentiation: no gradient flows back through the result.
func (x Expr) Detach() Expr {
	return x.apply("detach", func() (*G.Node, error) { return x.g.ops.Detach(x.node) })
}

// Cols returns columns from … to−1 of a matrix: (n, d) → (n, to−from). The stock slice hashes its bounds modulo 256, so
// two slices of a wide matrix can become the same node.
func (x Expr) Cols(from, to int) Expr {
	return x.apply(fmt.Sprintf("columns %d:%d", from, to), func() (*G.Node, error) {
		shape := x.node.Shape()
		if len(shape) != 2 || from < 0 || from >= to || to > shape[1] {
			return nil, errors.New("no such columns")
		}
		return x.g.ops.Cols(x.node, from, to)
	})
}

// Join returns matrices with the same number of rows side by side: (n, a), (n, b), … → (n, a+b+…). The stock Concat
// uses the stock slice in its backward pass.
func (x Expr) Join(others ...Expr) Expr {
	return x.apply("join", func() (*G.Node, error) {
		list := append(G.Nodes{x.node}, nodes(others...)...)
		for _, n := range list {
			if s, rows := n.Shape(), x.node.Shape()[0]; s[0] != rows {
				return nil, errors.Errorf("%d and %d rows", rows, s[0])
			}
		}
		return x.g.ops.Join(list)
	}, others...)
}

// GatherCols returns the kernel of the join of several Cols: column c of y is column order[c] of x (n, d), or 0 if
// order[c] is −1. A column may appear more than once; its gradient is the sum.
func GatherCols(x Expr, order []int) (y Expr, ok bool) {
	return x.kernel("gather columns", func() (*G.Node, error) {
		shape := x.node.Shape()
		if len(shape) != 2 {
			return nil, errors.New("want a matrix")
		}
		for _, c := range order {
			if c < -1 || c >= shape[1] {
				return nil, errors.Errorf("column %d of %d", c, shape[1])
			}
		}
		return x.g.ops.GatherCols(x.node, order)
	})
}
