package graph

import (
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

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
