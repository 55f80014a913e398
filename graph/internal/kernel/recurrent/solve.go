package recurrent

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// solveRows is the number of rows up to which a triangular system is solved row by row.
const solveRows = 8

// solve computes rows from … to − 1 of u = Diag(β)·w, where w ← w − n·u and n (c, c) is 0 on and above the diagonal. It
// solves the first half of the rows, subtracts n times them from the rest, and solves the rest.
func (s *pass[T]) solve(from, to int) {
	c, v := s.c, s.V
	if to-from <= solveRows {
		solveFew(s.w[from*v:to*v], s.u[from*v:to*v], s.n[from*c+from:], s.beta[from:to], v, c)
		return
	}
	m := (from + to) / 2
	s.solve(from, m)
	gemm.MulSerial(to-m, v, m-from, -1, gemm.Mat(s.n[m*c+from:], c), gemm.Mat(s.u[from*v:], v), 1,
		gemm.Mat(s.w[m*v:], v))
	s.solve(m, to)
}

// solveFew is solve for a row of each β. w and u are cols wide, and rows of n are stride apart.
func solveFew[T kernel.Float](w, u, n, beta []T, cols, stride int) {
	if fast := simd.Of[T](); fast != nil && len(beta) == solveRows {
		f := simd.Float32s[T]
		fast.Solve(f(w), f(u), f(n), f(beta), cols, stride)
		return
	}
	for i, by := range beta {
		row := w[i*cols:][:cols]
		for j := range i {
			subtract(row, u[j*cols:][:cols], n[i*stride+j])
		}
		for j, x := range row {
			u[i*cols+j] = by * x
		}
	}
}

// solveT replaces x (c, v) by (I + nᵀ)⁻¹·x, from the last rows to the first.
func solveT[T kernel.Float](x, n []T, c, v, from, to int) {
	if to-from <= solveRows {
		solveFewT(x[from*v:to*v], n[from*c+from:], v, c)
		return
	}
	m := (from + to) / 2
	solveT(x, n, c, v, m, to)
	gemm.MulSerial(m-from, v, to-m, -1, gemm.Mat(n[m*c+from:], c).T(), gemm.Mat(x[m*v:], v), 1,
		gemm.Mat(x[from*v:], v))
	solveT(x, n, c, v, from, m)
}

// solveFewT is solveT for rows of cols numbers, and rows of n that are stride apart.
func solveFewT[T kernel.Float](x, n []T, cols, stride int) {
	rows := len(x) / cols
	if fast := simd.Of[T](); fast != nil && rows == solveRows {
		fast.SolveT(simd.Float32s(x), simd.Float32s(n), cols, stride)
		return
	}
	for i := rows - 2; i >= 0; i-- {
		for j := i + 1; j < rows; j++ {
			subtract(x[i*cols:][:cols], x[j*cols:][:cols], n[j*stride+i])
		}
	}
}

// subtract computes y = y − by·x.
func subtract[T kernel.Float](y, x []T, by T) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] -= T(by * v)
	}
}
