package graph

import (
	"fmt"

	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

type binary func(a, b *G.Node) (*G.Node, error)
type broadcast func(a, b *G.Node, left, right []byte) (*G.Node, error)

// pointwise combines two expressions entry by entry. Axes of size 1 stretch, and missing leading axes are added, as in
// NumPy; Gorgonia wants the axes listed.
func (x Expr) pointwise(name string, same binary, stretch broadcast, y Expr) Expr {
	return x.apply(name, func() (*G.Node, error) {
		a, b := x.node.Shape(), y.node.Shape()
		if a.Eq(b) {
			return same(x.node, y.node)
		}
		if len(b) > len(a) {
			return nil, errors.New("shapes differ and do not broadcast")
		}
		lead := len(a) - len(b)
		var left, right []byte
		for i, n := range a {
			switch {
			case i < lead:
				right = append(right, byte(i))
			case n == b[i-lead]:
			case n == 1:
				left = append(left, byte(i))
			case b[i-lead] == 1:
				right = append(right, byte(i))
			default:
				return nil, errors.New("shapes differ and do not broadcast")
			}
		}
		return stretch(x.node, y.node, left, right)
	}, y)
}

// Add is x + y.
func (x Expr) Add(y Expr) Expr {
	if z, ok := addKernel(x, y); ok {
		return z
	}
	return x.pointwise("add", G.Add, G.BroadcastAdd, y)
}

// Sub is x − y.
func (x Expr) Sub(y Expr) Expr { return x.pointwise("sub", G.Sub, G.BroadcastSub, y) }

// Mul is x ∘ y, entry by entry.
func (x Expr) Mul(y Expr) Expr { return x.pointwise("mul", G.HadamardProd, G.BroadcastHadamardProd, y) }

// Div is x / y, entry by entry.
func (x Expr) Div(y Expr) Expr { return x.pointwise("div", G.HadamardDiv, G.BroadcastHadamardDiv, y) }

func (x Expr) constant(c float64) *G.Node {
	if x.g.dtype == Float32 {
		return G.NewConstant(float32(c))
	}
	return G.NewConstant(c)
}

// Scale is c·x.
func (x Expr) Scale(c float64) Expr {
	return x.apply(fmt.Sprintf("scale by %.4g", c), func() (*G.Node, error) { return G.HadamardProd(x.node, x.constant(c)) })
}

// Shift is x + c.
func (x Expr) Shift(c float64) Expr {
	return x.apply(fmt.Sprintf("shift by %.4g", c), func() (*G.Node, error) { return G.Add(x.node, x.constant(c)) })
}

func (x Expr) unary(name string, f func(*G.Node) (*G.Node, error)) Expr {
	return x.apply(name, func() (*G.Node, error) { return f(x.node) })
}

// Square is x², entry by entry.
func (x Expr) Square() Expr { return x.unary("square", G.Square) }

// Sqrt is √x.
func (x Expr) Sqrt() Expr { return x.unary("sqrt", G.Sqrt) }

// Exp is eˣ.
func (x Expr) Exp() Expr { return x.unary("exp", G.Exp) }

// Log is ln x.
func (x Expr) Log() Expr { return x.unary("log", G.Log) }

// Tanh is tanh x.
func (x Expr) Tanh() Expr { return x.unary("tanh", G.Tanh) }

// Cube is x³.
func (x Expr) Cube() Expr { return x.unary("cube", G.Cube) }

// ReLU is max(x, 0), with derivative 0 at 0.
func (x Expr) ReLU() Expr { return x.unary("relu", G.Rectify) }

// MatMul is the matrix product x·y: (n, k)·(k, m) → (n, m), or the same for every matrix of two batches of equal shape.
func (x Expr) MatMul(y Expr) Expr { return x.product("matmul", y, false) }

// MatMulT is x·yᵀ: (n, k)·(m, k) → (n, m), also in batches.
func (x Expr) MatMulT(y Expr) Expr { return x.product("matmulT", y, true) }

func (x Expr) product(name string, y Expr, transY bool) Expr {
	z := x.apply(name, func() (*G.Node, error) {
		a, b := x.node.Shape(), y.node.Shape()
		rank := len(a)
		if rank < 2 || len(b) != rank || !a[:rank-2].Eq(b[:rank-2]) {
			return nil, errors.New("matrices, or batches of equally many, are needed")
		}
		inner := b[rank-2]
		if transY {
			inner = b[rank-1]
		}
		if a[rank-1] != inner {
			return nil, errors.Errorf("inner sizes %d and %d differ", a[rank-1], inner)
		}
		switch {
		case rank > 2:
			return G.BatchedMatMul(x.node, y.node, false, transY)
		case transY:
			return matMulT(x.node, y.node)
		}
		return G.Mul(x.node, y.node)
	}, y)
	return z
}

// matMulT transposes first: stock Mul has no transposed form.
func matMulT(a, b *G.Node) (*G.Node, error) {
	bt, err := G.Transpose(b, 1, 0)
	if err != nil {
		return nil, err
	}
	return G.Mul(a, bt)
}

// Transpose reorders the axes.
func (x Expr) Transpose(axes ...int) Expr {
	return x.apply("transpose", func() (*G.Node, error) { return G.Transpose(x.node, axes...) })
}

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

// Gather selects row ids[i] of x as row i: (v, d), (n) → (n, d). Its gradient adds up over equal ids. A single number is
// not selected by the stock operation, whose backward pass panics on it.
func (x Expr) Gather(ids Expr) Expr {
	return x.apply("gather", func() (*G.Node, error) {
		if x.node.Shape()[1] == 1 && len(ids.Ints()) == 1 {
			return x.gather(ids)
		}
		if err := ids.ids.check(x.node.Shape()[0], "rows"); err != nil {
			return nil, err
		}
		ids.ids.looked = true
		return G.ByIndices(x.node, ids.node, 0)
	}, ids)
}
