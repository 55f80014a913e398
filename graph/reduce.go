package graph

import (
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Sum returns the sum over the last axis, which it keeps with size 1: (n, d) → (n, 1).
func (x Expr) Sum() Expr {
	return x.apply("sum", func() (*G.Node, error) { return x.g.sumLast(x.node) })
}

func (g *Graph) sumLast(n *G.Node) (*G.Node, error) {
	shape := n.Shape()
	last := len(shape) - 1
	if last < 0 {
		return nil, errors.New("a scalar has no last axis")
	}
	sum, err := G.Sum(n, last)
	if err != nil {
		return nil, err
	}
	shape[last] = 1
	return g.ops.Reshape(sum, shape)
}

// Mean returns Sum divided by the size of the last axis: (n, d) → (n, 1).
func (x Expr) Mean() Expr {
	return x.apply("mean", func() (*G.Node, error) {
		sum, err := x.g.sumLast(x.node)
		if err != nil {
			return nil, err
		}
		shape := x.node.Shape()
		return G.HadamardProd(sum, x.g.ops.Constant(1/float64(shape[len(shape)-1])))
	})
}

// SumAll returns the sum of all entries, a scalar.
func (x Expr) SumAll() Expr {
	return x.unary("sum of all", func(n *G.Node) (*G.Node, error) { return G.Sum(n) })
}

// Softmax returns e^(x−max) / Σ e^(x−max) over the last axis. The maximum only keeps the exponentials in range; the
// result does not depend on it, so it takes no part in differentiation.
func (x Expr) Softmax() Expr {
	e := x.Sub(x.RowMax()).Exp()
	return e.Div(e.Sum())
}

// LogSumExp returns ln Σ eˣ over the last axis: (n, d) → (n, 1).
func (x Expr) LogSumExp() Expr {
	top := x.RowMax()
	return x.Sub(top).Exp().Sum().Log().Add(top)
}

// RowMax returns the maximum over the last axis, kept with size 1, as a constant for differentiation. The stock softmax
// starts its maximum at the tensor's very first entry and skips column 0.
func (x Expr) RowMax() Expr {
	return x.apply("row max", func() (*G.Node, error) { return x.g.ops.RowMax(x.node) })
}

// ArgMax returns the column of the largest entry of each row, the first of equal ones: (n, d) → (n). It skips NaN. The
// result holds ids below d, as if declared by Scope.Ints, for Gather, OneHot and losses. After a run Ints returns them.
// ArgMax has no derivative.
func (x Expr) ArgMax() Expr {
	return x.computed("argmax", func(list []int) (*G.Node, idRange, error) {
		shape := x.node.Shape()
		if len(shape) != 2 {
			return nil, idRange{}, errors.Errorf("got %d axes, want the 2 of a matrix", len(shape))
		}
		node, err := x.g.ops.ArgMax(x.node, list)
		return node, idRange{limit: shape[1], ignore: NoneIgnored, computed: true}, err
	})
}

// computed returns ids, one for each row of x, which an operation also writes to list in every run; list is nil on an
// Outline.
func (x Expr) computed(op string, make func(list []int) (*G.Node, idRange, error), others ...Expr) Expr {
	var list *tensor.Dense
	var ids idRange
	y := x.apply(op, func() (node *G.Node, err error) {
		g, rows := x.g, 1
		if shape := x.node.Shape(); len(shape) > 0 {
			rows = shape[0]
		}
		if !g.hold(x.scope, []int{rows}, tensor.Int.Size()) {
			return nil, g.err
		}
		var numbers []int
		if !g.ops.Outline {
			list = tensor.New(tensor.WithShape(rows), tensor.Of(tensor.Int))
			numbers = list.Ints()
		}
		node, ids, err = make(numbers)
		return node, err
	}, others...)
	if y.node != nil {
		y.dense, y.shape, y.ids = list, y.node.Shape(), &ids
	}
	return y
}
