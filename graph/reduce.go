package graph

import (
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Sum adds over the last axis and keeps it with size 1: (n, d) → (n, 1).
func (x Expr) Sum() Expr {
	return x.apply("sum", func() (*G.Node, error) { return x.g.sumLast(x.node) })
}

func (g *Graph) sumLast(n *G.Node) (*G.Node, error) {
	shape := n.Shape().Clone()
	last := len(shape) - 1
	if last < 0 {
		return nil, errors.New("a scalar has no last axis")
	}
	sum, err := G.Sum(n, last)
	if err != nil {
		return nil, err
	}
	shape[last] = 1
	return g.reshape(sum, shape)
}

// Mean is Sum divided by the size of the last axis: (n, d) → (n, 1).
func (x Expr) Mean() Expr {
	return x.apply("mean", func() (*G.Node, error) {
		sum, err := x.g.sumLast(x.node)
		if err != nil {
			return nil, err
		}
		shape := x.node.Shape()
		return G.HadamardProd(sum, x.constant(1/float64(shape[len(shape)-1])))
	})
}

// SumAll is the sum of all entries, a scalar.
func (x Expr) SumAll() Expr {
	return x.unary("sum of all", func(n *G.Node) (*G.Node, error) { return G.Sum(n) })
}

// Softmax is e^(x−max) / Σ e^(x−max) over the last axis. The maximum only keeps the exponentials in range; the result
// does not depend on it, so it takes no part in differentiation.
func (x Expr) Softmax() Expr {
	e := x.Sub(x.RowMax()).Exp()
	return e.Div(e.Sum())
}

// LogSumExp is ln Σ eˣ over the last axis: (n, d) → (n, 1).
func (x Expr) LogSumExp() Expr {
	top := x.RowMax()
	return x.Sub(top).Exp().Sum().Log().Add(top)
}
