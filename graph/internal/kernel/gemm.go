package kernel

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Matrix is a view of a row-major matrix: entry (i, j) is Data[i*Stride+j]. Trans says that its transpose is meant.
type Matrix[T Float] struct {
	Data   []T
	Stride int
	Trans  bool
}

// Mat views data as a matrix whose rows are cols wide and lie one behind the other.
func Mat[T Float](data []T, cols int) Matrix[T] { return Matrix[T]{Data: data, Stride: cols} }

// T is the transpose, without moving a number.
func (m Matrix[T]) T() Matrix[T] { m.Trans = !m.Trans; return m }

// from is the same matrix beginning at row i, column j.
func (m Matrix[T]) from(i, j int) Matrix[T] {
	if m.Trans {
		i, j = j, i
	}
	m.Data = m.Data[min(len(m.Data), i*m.Stride+j):]
	return m
}

// A tile of the result is what one thread computes at a time. gonum splits a product over goroutines of its own from
// 4 blocks of 64 × 64 on; these sizes stay below, so that the split is ours: it spreads dW = xᵀ·dy too, which gonum's
// does not, and starts no goroutine.
const tileRows, tileCols = 64, 192

// Gemm computes c = alpha·a·b + beta·c for a (m, k), b (k, n), c (m, n), tile by tile on the pool's threads.
func Gemm[T Float](p *Pool, m, n, k int, alpha T, a, b Matrix[T], beta T, c Matrix[T]) {
	across := (n + tileCols - 1) / tileCols
	p.For((m+tileRows-1)/tileRows*across, func(tile int) {
		i, j := tile/across*tileRows, tile%across*tileCols
		gemmTile(min(tileRows, m-i), min(tileCols, n-j), k, alpha, a.from(i, 0), b.from(0, j), beta, c.from(i, j))
	})
}

// GemmSerial is Gemm on the caller's thread alone, for use inside a loop of the pool.
func GemmSerial[T Float](m, n, k int, alpha T, a, b Matrix[T], beta T, c Matrix[T]) {
	for i := 0; i < m; i += tileRows {
		for j := 0; j < n; j += tileCols {
			gemmTile(min(tileRows, m-i), min(tileCols, n-j), k, alpha, a.from(i, 0), b.from(0, j), beta, c.from(i, j))
		}
	}
}

// gemmTile is one call of gonum. A single row goes through it too: gonum v0.17.0's Sgemv with a transposed matrix and
// beta = 0 clears memory behind the end of its result.
func gemmTile[T Float](m, n, k int, alpha T, a, b Matrix[T], beta T, c Matrix[T]) {
	switch c := any(c).(type) {
	case Matrix[float32]:
		a, b := any(a).(Matrix[float32]), any(b).(Matrix[float32])
		gonum.Implementation{}.Sgemm(trans(a.Trans), trans(b.Trans), m, n, k, float32(alpha), a.Data, a.Stride, b.Data, b.Stride, float32(beta), c.Data, c.Stride)
	case Matrix[float64]:
		a, b := any(a).(Matrix[float64]), any(b).(Matrix[float64])
		gonum.Implementation{}.Dgemm(trans(a.Trans), trans(b.Trans), m, n, k, float64(alpha), a.Data, a.Stride, b.Data, b.Stride, float64(beta), c.Data, c.Stride)
	}
}

func trans(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}
