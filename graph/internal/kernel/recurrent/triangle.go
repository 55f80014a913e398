package recurrent

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// blockRows is the number of rows of a block of a triangular matrix of a chunk. Products leave out the blocks above the
// diagonal.
const blockRows = 32

// lowerPairs computes the entries of a = alpha·x·yᵀ on and below the diagonal, and some others: x and y (n, d).
func lowerPairs[T kernel.Float](n, d int, alpha T, x, y, a gemm.Matrix[T]) {
	for from := 0; from < n; from += blockRows {
		to := min(n, from+blockRows)
		gemm.MulSerial(to-from, to, d, alpha, x.From(from, 0), y.T(), 0, a.From(from, 0))
	}
}

// lowerMul computes y = beta·y + a·x, for a (n, n) that is 0 above the diagonal: x and y (n, d).
func lowerMul[T kernel.Float](n, d int, a, x gemm.Matrix[T], beta T, y gemm.Matrix[T]) {
	for from := 0; from < n; from += blockRows {
		to := min(n, from+blockRows)
		gemm.MulSerial(to-from, d, to, 1, a.From(from, 0), x, beta, y.From(from, 0))
	}
}

// upperMul computes y = beta·y + aᵀ·x, for a (n, n) that is 0 above the diagonal: x and y (n, d).
func upperMul[T kernel.Float](n, d int, a, x gemm.Matrix[T], beta T, y gemm.Matrix[T]) {
	for from := 0; from < n; from += blockRows {
		to := min(n, from+blockRows)
		gemm.MulSerial(to-from, d, n-from, 1, a.From(from, from).T(), x.From(from, 0), beta, y.From(from, 0))
	}
}

// clearAbove sets the entries of a (n, n) on and above the diagonal to 0.
func clearAbove[T kernel.Float](n int, a []T) {
	for i := range n {
		clear(a[i*n+i : (i+1)*n])
	}
}
