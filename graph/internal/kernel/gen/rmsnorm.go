package main

import "fmt"

// rmsNorm computes y = x∘w/√(mean(x²) + ε), with share = 1/d.
func rmsNorm(f *fn) {
	y, x, w, inv := f.pointer("y_base"), f.pointer("x_base"), f.pointer("w_base"), f.pointer("inv_base")
	cols, rows := f.pointer("w_len"), f.pointer("inv_len")
	share := f.spreadParam("share")
	v, t := f.scratch(), f.scratch()
	squares := f.saved()
	f.rows(rows, func() {
		f.each(func() { f.set(squares, 0) })
		f.blocks(cols, func() {
			f.load(x, v)
			f.op("VFMADD231PS", v, v, squares)
		})
		f.fold("VADD", squares, t)
		f.op("VMULSS", f.low("X", share), f.low("X", squares), f.low("X", squares))
		f.inverseRoot(squares, t)
		f.op("VMOVSS", f.low("X", squares), fmt.Sprintf("(%s)", inv))
		f.spread(squares)
		f.blocks(cols, func() {
			f.load(x, v)
			f.load(w, t)
			f.op("VMULPS", squares.all(), v, v)
			f.op("VMULPS", t, v, v)
			f.store(v, y)
		})
		f.next(cols, y, x)
		f.advance(inv)
	})
}

// rmsNormBackward computes dw += Σ dy∘x̂, dx = (g − x̂∘share·Σ g∘x̂)·inv with x̂ = x·inv and g = dy∘w.
func rmsNormBackward(f *fn) {
	dx, dw := f.pointer("dx_base"), f.pointer("dw_base")
	x, w, dy := f.pointer("x_base"), f.pointer("w_base"), f.pointer("dy_base")
	inv, cols, rows := f.pointer("inv_base"), f.pointer("w_len"), f.pointer("inv_len")
	share := f.spreadParam("share")
	s, v, d, g, t := f.scratch(), f.scratch(), f.scratch(), f.scratch(), f.scratch()
	project := f.saved()
	f.rows(rows, func() {
		f.op("VBROADCASTSS", fmt.Sprintf("(%s)", inv), s)
		f.each(func() { f.set(project, 0) })
		f.blocks(cols, func() {
			f.load(x, v)
			f.load(dy, d)
			f.load(w, g)
			f.op("VMULPS", s, v, v)
			f.op("VMULPS", d, g, g)
			f.op("VFMADD231PS", v, g, project)
			f.load(dw, t)
			f.op("VFMADD231PS", v, d, t)
			f.store(t, dw)
		})
		f.fold("VADD", project, t)
		f.op("VMULSS", f.low("X", share), f.low("X", project), f.low("X", project))
		f.spread(project)
		f.blocks(cols, func() {
			f.load(x, v)
			f.load(dy, d)
			f.load(w, g)
			f.op("VMULPS", s, v, v)
			f.op("VMULPS", d, g, g)
			f.op("VFNMADD231PS", project.all(), v, g)
			f.op("VMULPS", s, g, g)
			f.store(g, dx)
		})
		f.next(cols, dx, x, dy)
		f.advance(inv)
	})
}
