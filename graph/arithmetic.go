package graph

import (
	"fmt"
	"math"

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
	if x.node != nil && y.node != nil && x.node.Shape().Eq(y.node.Shape()) {
		// The stock addition allocates its result in every run.
		z, ok := x.kernel("add", func() (*G.Node, error) { return x.g.ops.Add(x.node, y.node) }, y)
		if ok {
			return z
		}
	}
	return x.pointwise("add", G.Add, G.BroadcastAdd, y)
}

// Sub returns x − y.
func (x Expr) Sub(y Expr) Expr { return x.pointwise("sub", G.Sub, G.BroadcastSub, y) }

// Mul returns x ∘ y, entry by entry.
func (x Expr) Mul(y Expr) Expr { return x.pointwise("mul", G.HadamardProd, G.BroadcastHadamardProd, y) }

// Div returns x / y, entry by entry.
func (x Expr) Div(y Expr) Expr { return x.pointwise("div", G.HadamardDiv, G.BroadcastHadamardDiv, y) }

// Scale returns c·x.
func (x Expr) Scale(c float64) Expr {
	return x.apply(fmt.Sprintf("scale by %.4g", c), func() (*G.Node, error) {
		return G.HadamardProd(x.node, x.g.ops.Constant(c))
	})
}

// Shift returns x + c.
func (x Expr) Shift(c float64) Expr {
	return x.apply(fmt.Sprintf("shift by %.4g", c), func() (*G.Node, error) {
		return G.Add(x.node, x.g.ops.Constant(c))
	})
}

// opposed returns x + sign·y, entry by entry, for two expressions of one shape. Where they are opposite infinities,
// whose sum would be NaN, it is limit. The expression y is computed from x: where it is NaN and x is not, as in the
// stock rectifier of −∞, the result is x. The derivatives are the sum's.
func (x Expr) opposed(name string, sign float64, y Expr, limit float64) Expr {
	return x.apply(name, func() (*G.Node, error) {
		if !x.node.Shape().Eq(y.node.Shape()) {
			return nil, errBroadcast
		}
		return x.g.ops.Opposed(x.node, y.node, sign, limit)
	}, y)
}

// Pick returns x where mask is not 0, and 0 elsewhere, entry by entry. It is the product with a mask of ones and zeros,
// such as OneHot's, except that an infinity in a masked entry does not matter. It is differentiated by x alone.
func (x Expr) Pick(mask Expr) Expr {
	return x.apply("pick", func() (*G.Node, error) {
		if x.node.Dtype() != x.g.ops.Dtype || mask.node.Dtype() != x.g.ops.Dtype {
			return nil, errors.New("got integers, want floating-point numbers")
		}
		if !x.node.Shape().Eq(mask.node.Shape()) {
			return nil, errors.Errorf("got a mask %v, want %v", mask.node.Shape(), x.node.Shape())
		}
		return x.g.ops.Pick(x.node, mask.node)
	}, mask)
}

// MulAdd returns scale∘x + shift, entry by entry, with constant numbers. Lists shorter than x are repeated: a list as
// long as a row applies to every row. Where scale is 0 the result is shift, whatever x is, and where scale is 1 and
// shift 0 it is x, to the bit.
func (x Expr) MulAdd(scale, shift []float64) Expr {
	return x.apply("multiply and add", func() (*G.Node, error) {
		if x.node.Dtype() != x.g.ops.Dtype {
			return nil, errors.New("got integers, want floating-point numbers")
		}
		for _, list := range [][]float64{scale, shift} {
			if size := max(1, x.node.Shape().TotalSize()); len(list) == 0 || size%len(list) != 0 {
				return nil, errors.Errorf("got %d numbers, want %d or a divisor", len(list), size)
			}
			if err := finite(list); err != nil {
				return nil, err
			}
		}
		return x.g.ops.MulAdd(x.node, scale, shift)
	})
}

// MulAddAt returns MulAdd with row ids[i] of the tables scale and shift for row i of x, a matrix. The tables have a
// row, as long as x's, for every possible id.
func (x Expr) MulAddAt(ids Expr, scale, shift []float64) Expr {
	return x.apply("multiply and add", func() (*G.Node, error) {
		s := x.node.Shape()
		if len(s) != 2 || x.node.Dtype() != x.g.ops.Dtype {
			return nil, errors.Errorf("got %v, want a matrix of numbers", s)
		}
		for _, list := range [][]float64{scale, shift} {
			if len(list)%s[1] != 0 {
				return nil, errors.Errorf("got %d numbers, want rows of %d", len(list), s[1])
			}
			if err := ids.lookUp(len(list)/s[1], "rows"); err != nil {
				return nil, err
			}
			if err := finite(list); err != nil {
				return nil, err
			}
		}
		if ids.count() != s[0] {
			return nil, errors.Errorf("got %d ids, want %d, one per row", ids.count(), s[0])
		}
		return x.g.ops.MulAddAt(x.node, ids.list(), scale, shift)
	}, ids)
}

func finite(list []float64) error {
	for i, v := range list {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.Errorf("number %d is %v, want finite numbers", i, v)
		}
	}
	return nil
}
