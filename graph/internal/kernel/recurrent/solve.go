package recurrent

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// solveRows is the number of rows below which a triangular system is solved row by row.
const solveRows = 8

// solve replaces x (c, v) by (I + n)⁻¹·x, where n (c, c) is 0 on and above the diagonal. It solves the first half of
// the rows, subtracts n times them from the rest, and solves the rest.
func solve[T kernel.Float](x, n []T, c, v, from, to int) {
	if to-from <= solveRows {
		for i := from + 1; i < to; i++ {
			for j := from; j < i; j++ {
				subtract(x[i*v:][:v], x[j*v:][:v], n[i*c+j])
			}
		}
		return
	}
	m := (from + to) / 2
	solve(x, n, c, v, from, m)
	gemm.MulSerial(to-m, v, m-from, -1, gemm.Mat(n[m*c+from:], c), gemm.Mat(x[from*v:], v), 1, gemm.Mat(x[m*v:], v))
	solve(x, n, c, v, m, to)
}

// solveT replaces x (c, v) by (I + nᵀ)⁻¹·x, from the last rows to the first.
func solveT[T kernel.Float](x, n []T, c, v, from, to int) {
	if to-from <= solveRows {
		for i := to - 2; i >= from; i-- {
			for j := i + 1; j < to; j++ {
				subtract(x[i*v:][:v], x[j*v:][:v], n[j*c+i])
			}
		}
		return
	}
	m := (from + to) / 2
	solveT(x, n, c, v, m, to)
	gemm.MulSerial(m-from, v, to-m, -1, gemm.Mat(n[m*c+from:], c).T(), gemm.Mat(x[m*v:], v), 1,
		gemm.Mat(x[from*v:], v))
	solveT(x, n, c, v, from, m)
}

// subtract computes y = y − by·x.
func subtract[T kernel.Float](y, x []T, by T) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] -= by * v
	}
}
