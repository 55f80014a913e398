package graph

import (
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Linear returns the kernel of y = x·w + b: (n, k)·(k, m) → (n, m). The bias b is optional: it may be empty.
func Linear(x, w, b Expr) (y Expr, ok bool) { return linear("linear", x, w, b, false) }

// LinearT returns the kernel of y = x·wᵀ: (n, k)·(m, k) → (n, m), such as the head tied to the token embedding.
func LinearT(x, w Expr) (y Expr, ok bool) { return linear("linearT", x, w, Expr{}, true) }

func linear(name string, x, w, b Expr, transposed bool) (y Expr, ok bool) {
	with := present(b)
	m := x.g.packed(w)
	if m == nil || m.transposed != transposed {
		m, with = nil, append([]Expr{w}, with...) // a packed weight is not an operand
	}
	return x.kernel(name, func() (*G.Node, error) {
		in, out := w.node.Shape()[0], w.node.Shape()[1]
		if transposed {
			in, out = out, in
		}
		if got := x.node.Shape()[1]; got != in {
			return nil, errors.Errorf("%d features, the weight takes %d", got, in)
		}
		if b.node != nil {
			if got := b.node.Shape().TotalSize(); got != out {
				return nil, errors.Errorf("a bias of %d for %d outputs", got, out)
			}
		}
		if m != nil {
			return x.g.ops.PackedLinear(x.node, m.Weights, b.node)
		}
		if _, known := x.g.multiplied[w.name]; w.name != "" && !known {
			x.g.multiplied[w.name] = transposed
		}
		if transposed {
			return x.g.ops.LinearT(x.node, w.node)
		}
		return x.g.ops.Linear(x.node, w.node, b.node)
	}, with...)
}

// MatMul returns the matrix product x·y: (n, k)·(k, m) → (n, m), or the same for every matrix of two batches of equal
// shape.
func (x Expr) MatMul(y Expr) Expr { return x.product("matmul", y, false) }

// MatMulT returns x·yᵀ: (n, k)·(m, k) → (n, m), also in batches.
func (x Expr) MatMulT(y Expr) Expr { return x.product("matmulT", y, true) }

func (x Expr) product(name string, y Expr, transY bool) Expr {
	return x.apply(name, func() (*G.Node, error) {
		a, b := x.node.Shape(), y.node.Shape()
		rank := len(a)
		if rank < 2 || len(b) != rank || !a[:rank-2].Eq(b[:rank-2]) {
			return nil, errors.New("want two matrices, or two batches of the same number of matrices")
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
}

// matMulT transposes first: stock Mul has no transposed form.
func matMulT(a, b *G.Node) (*G.Node, error) {
	bt, err := G.Transpose(b, 1, 0)
	if err != nil {
		return nil, err
	}
	return G.Mul(a, bt)
}
