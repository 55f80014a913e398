package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
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

// Rows returns rows from … to−1 of a matrix: (n, d) → (to−from, d).
func (x Expr) Rows(from, to int) Expr {
	return x.apply("rows", func() (*G.Node, error) {
		s := x.node.Shape()
		if len(s) != 2 || x.node.Dtype() != x.g.ops.Dtype || from < 0 || to <= from || to > s[0] {
			return nil, errors.Errorf("got rows %d to %d of %v, want some of a matrix of numbers", from, to, s)
		}
		return x.g.ops.Apply(ops.Own{
			Name: fmt.Sprintf("rows %d to %d", from, to), Shape: tensor.Shape{to - from, s[1]},
			F32: rows[float32](from*s[1], to*s[1]), F64: rows[float64](from*s[1], to*s[1]),
		}, G.Nodes{x.node})
	})
}

// rows copies entries from … to−1.
func rows[T float32 | float64](from, to int) ops.OwnPass[T] {
	return ops.OwnPass[T]{
		Forward:  func(y []T, x [][]T) { copy(y, x[0][from:to]) },
		Backward: func(dx [][]T, dy, _ []T, _ [][]T) { copy(dx[0][from:to], dy) },
	}
}

// Columns returns columns from … to−1 of a matrix: (n, d) → (n, to−from). The stock slice hashes its bounds modulo 256,
// so two slices of a wide matrix can become the same node.
func (x Expr) Columns(from, to int) Expr {
	return x.apply(fmt.Sprintf("columns %d:%d", from, to), func() (*G.Node, error) {
		shape := x.node.Shape()
		if len(shape) != 2 || from < 0 || from >= to || to > shape[1] {
			return nil, errors.New("no such columns")
		}
		return x.g.ops.Columns(x.node, from, to)
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

// Gather returns the matrix whose row i is row ids[i] of x: (v, d), (n) → (n, d). Its gradient adds up over equal ids.
// The stock operation is not used for a table or result of a single number: it returns one entry for all rows, or
// panics in its backward pass.
func (x Expr) Gather(ids Expr) Expr {
	return x.apply("gather", func() (*G.Node, error) {
		s := x.node.Shape()
		// The stock operation does not accept computed ids.
		if len(s) != 2 || s[1] == 1 && (s[0] == 1 || ids.count() == 1) || ids.node.Dtype() == x.g.ops.Dtype {
			return x.gather(ids)
		}
		if err := ids.lookUp(s[0], "rows"); err != nil {
			return nil, err
		}
		return G.ByIndices(x.node, ids.node, 0)
	}, ids)
}

func (x Expr) gather(ids Expr) (*G.Node, error) {
	s := x.node.Shape()
	if len(s) != 2 {
		return nil, errors.Errorf("got a table %v, want (v, d)", s)
	}
	if err := ids.lookUp(s[0], "rows"); err != nil {
		return nil, err
	}
	return x.g.ops.Gather(x.node, ids.list())
}

// OneHot returns the matrix whose row i is 1 in column ids[i] and 0 elsewhere: (n) → (n, classes). The row of an
// ignored id is all 0.
func (ids Expr) OneHot(classes int) Expr {
	return ids.apply("one-hot", func() (*G.Node, error) {
		if err := ids.ids.check(classes, "classes"); err != nil {
			return nil, err
		}
		return ids.g.ops.OneHot(ids.list(), classes, ids.ids.ignore)
	})
}
