package main

import "fmt"

// The kernels of triangular systems of eight rows. A block of all unknown rows stays in registers.

const solved = 8

// solve8 computes, row by row, w_i ← w_i − Σ_{j<i} n_ij·u_j and u_i = factor_i·w_i.
func solve8(f *fn) {
	w, u, n, factor := f.pointer("w_base"), f.pointer("u_base"), f.pointer("n_base"), f.pointer("factor_base")
	cols, stride := f.pointer("cols"), f.pointer("stride")
	w1, u1, n1 := f.register(), f.register(), f.register()
	x, by, sum := f.scratches(solved), f.scratch(), f.scratch()
	f.blocks(cols, func() {
		f.op("MOVQ", w, w1)
		f.op("MOVQ", u, u1)
		f.op("MOVQ", n, n1)
		for i, result := range x {
			f.load(w1, sum)
			for j, earlier := range x[:i] {
				f.op("VBROADCASTSS", fmt.Sprintf("%d(%s)", bytes*j, n1), by)
				f.op("VFNMADD231PS", by, earlier, sum)
			}
			f.store(sum, w1)
			f.op("VBROADCASTSS", fmt.Sprintf("%d(%s)", bytes*i, factor), by)
			f.op("VMULPS", by, sum, result)
			f.store(result, u1)
			f.next(cols, w1, u1)
			f.next(stride, n1)
		}
	})
}

// solve8T computes, from the last row to the first, x_j ← x_j − Σ_{i>j} n_ij·x_i.
func solve8T(f *fn) {
	x, n := f.pointer("x_base"), f.pointer("n_base")
	cols, stride := f.pointer("cols"), f.pointer("stride")
	x1, n1, back := f.register(), f.register(), f.register()
	rows, by := f.scratches(solved), f.scratch()
	f.op("MOVQ", "$0", back)
	f.op("SUBQ", stride, back)
	f.blocks(cols, func() {
		f.op("MOVQ", x, x1)
		f.op("MOVQ", n, n1)
		for i, row := range rows {
			if i > 0 {
				f.next(cols, x1)
				f.next(stride, n1)
			}
			f.load(x1, row)
		}
		for i := solved - 1; i > 0; i-- {
			for j, earlier := range rows[:i] {
				f.op("VBROADCASTSS", fmt.Sprintf("%d(%s)", bytes*j, n1), by)
				f.op("VFNMADD231PS", by, rows[i], earlier)
			}
			f.next(back, n1)
		}
		f.op("MOVQ", x, x1)
		for _, row := range rows {
			f.store(row, x1)
			f.next(cols, x1)
		}
	})
}
