package graph

import (
	"fmt"

	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

type binary func(a, b *G.Node) (*G.Node, error)
type broadcast func(a, b *G.Node, left, right []byte) (*G.Node, error)

var errBroadcast = errors.New("shapes differ and do not broadcast")

// pointwise combines two expressions entry by entry. Axes of size 1 stretch in either operand, and leading axes that y
// lacks are added; Gorgonia requires a list of these axes. This is less general than NumPy's broadcasting: it is an
// error if x has fewer axes than y, or if y lacks axes in a case that Gorgonia does not stretch, such as (2, 3, 4) with
// (4) or (2, 1, 4) with (3, 4). Reshape y to the number of axes of x to avoid that.
func (x Expr) pointwise(name string, same binary, stretch broadcast, y Expr) Expr {
	return x.apply(name, func() (*G.Node, error) {
		a, b := x.node.Shape(), y.node.Shape()
		if a.Eq(b) {
			return same(x.node, y.node)
		}
		if len(b) > len(a) {
			return nil, errBroadcast
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
				return nil, errBroadcast
			}
		}
		z, err := stretch(x.node, y.node, left, right)
		if err != nil {
			return nil, errBroadcast
		}
		return z, nil
	}, y)
}

// Add returns x + y.
func (x Expr) Add(y Expr) Expr {
	if z, ok := addKernel(x, y); ok {
		return z
	}
	return x.pointwise("add", G.Add, G.BroadcastAdd, y)
}

// Sub returns x − y.
func (x Expr) Sub(y Expr) Expr { return x.pointwise("sub", G.Sub, G.BroadcastSub, y) }

// Mul returns x ∘ y, entry by entry.
func (x Expr) Mul(y Expr) Expr { return x.pointwise("mul", G.HadamardProd, G.BroadcastHadamardProd, y) }

// Div returns x / y, entry by entry.
func (x Expr) Div(y Expr) Expr { return x.pointwise("div", G.HadamardDiv, G.BroadcastHadamardDiv, y) }

func (x Expr) constant(c float64) *G.Node {
	if x.g.dtype == Float32 {
		return G.NewConstant(float32(c))
	}
	return G.NewConstant(c)
}

// Scale returns c·x.
func (x Expr) Scale(c float64) Expr {
	return x.apply(fmt.Sprintf("scale by %.4g", c), func() (*G.Node, error) {
		return G.HadamardProd(x.node, x.constant(c))
	})
}

// Shift returns x + c.
func (x Expr) Shift(c float64) Expr {
	return x.apply(fmt.Sprintf("shift by %.4g", c), func() (*G.Node, error) { return G.Add(x.node, x.constant(c)) })
}

func (x Expr) unary(name string, f func(*G.Node) (*G.Node, error)) Expr {
	return x.apply(name, func() (*G.Node, error) { return f(x.node) })
}

// Square returns x², entry by entry.
func (x Expr) Square() Expr { return x.unary("square", G.Square) }

// Sqrt returns √x.
func (x Expr) Sqrt() Expr { return x.unary("sqrt", G.Sqrt) }

// Exp returns eˣ.
func (x Expr) Exp() Expr { return x.unary("exp", G.Exp) }

// Log returns ln x. In float32, subnormal positive numbers give values between −88.1 and −87.3.
func (x Expr) Log() Expr { return x.unary("log", G.Log) }

// Tanh returns tanh x.
func (x Expr) Tanh() Expr { return x.unary("tanh", G.Tanh) }

// Cube returns x³.
func (x Expr) Cube() Expr { return x.unary("cube", G.Cube) }

// ReLU returns max(x, 0), computed as x + max(−x, 0), which has derivative 0 at 0; that of the stock operation is 1
// there. ReLU of −∞ is 0.
func (x Expr) ReLU() Expr {
	return x.opposed("add", 1, x.Scale(-1).unary("relu", G.Rectify), 0)
}

// Gather returns the matrix whose row i is row ids[i] of x: (v, d), (n) → (n, d). Its gradient adds up over equal ids.
// The stock operation is not used for a table or result of a single number: it returns one entry for all rows, or
// panics in its backward pass.
func (x Expr) Gather(ids Expr) Expr {
	return x.apply("gather", func() (*G.Node, error) {
		s := x.node.Shape()
		// The stock operation does not accept computed ids.
		if len(s) != 2 || s[1] == 1 && (s[0] == 1 || ids.count() == 1) || ids.node.Dtype() == x.g.dtype {
			return x.gather(ids)
		}
		if err := ids.ids.check(x.node.Shape()[0], "rows"); err != nil {
			return nil, err
		}
		ids.ids.isLookup = true
		return G.ByIndices(x.node, ids.node, 0)
	}, ids)
}
