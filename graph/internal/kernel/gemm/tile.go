package gemm

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// tile computes rows top … bottom and columns left … right of c.
func (g *product[T]) tile(top, bottom, left, right int) {
	if top >= bottom || left >= right {
		return
	}
	if g.k == 0 {
		g.addend(top, bottom, left, right)
		return
	}
	if g, ok := any(g).(*product[float32]); ok {
		tile32(g, top, bottom, left, right)
		return
	}
	g64 := any(g).(*product[float64])
	if g.d.Data != nil && !g.inPlace() {
		g.addend(top, bottom, left, right)
	}
	// From 4 blocks of 64 × 64 on, gonum splits a product over its own goroutines. These sizes stay below, so that only
	// the pool splits.
	const height, width = 64, 192
	for i := top; i < bottom; i += height {
		for j := left; j < right; j += width {
			gonumTile(g64, i, min(height, bottom-i), j, min(width, right-j))
		}
	}
}

// addend sets c to beta·d, the part of it that is not a product.
func (g *product[T]) addend(top, bottom, left, right int) {
	for i := top; i < bottom; i++ {
		row := g.c.Data[i*g.c.Stride+left : i*g.c.Stride+right]
		if g.d.Data == nil {
			clear(row)
			continue
		}
		for j, v := range g.d.Data[i*g.d.Stride+left : i*g.d.Stride+right] {
			row[j] = g.beta * v
		}
	}
}

// scale sets c to beta·d unless beta is 0 or 1: only these betas can be left to the kernels.
func (g *product[T]) scale(top, bottom, left, right int) {
	if g.beta != 0 && g.beta != 1 {
		g.addend(top, bottom, left, right)
	}
}

// inPlace reports whether d is c.
func (g *product[T]) inPlace() bool {
	return &g.d.Data[0] == &g.c.Data[0] && g.d.Stride == g.c.Stride
}

// gonumTile computes m rows from i on and n columns from j on. It uses Dgemm even for a single row: with a transposed
// matrix and beta = 0, the Dgemv of gonum v0.17.0 clears memory after the end of its result.
func gonumTile(g *product[float64], i, m, j, n int) {
	a, b, c := g.a.From(i, 0), g.b.From(0, j), g.c.From(i, j)
	gonum.Implementation{}.Dgemm(trans(a.Trans), trans(b.Trans), m, n, g.k,
		g.alpha, a.Data, a.Stride, b.Data, b.Stride, g.beta, c.Data, c.Stride)
}

func trans(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}
