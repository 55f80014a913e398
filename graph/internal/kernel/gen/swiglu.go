package main

// swiglu computes y = x/(1 + e^(−x))·u.
func swiglu(f *fn) {
	y, x, u := f.pointer("y_base"), f.pointer("x_base"), f.pointer("u_base")
	v, m, e, s, t, n := f.scratch(), f.scratch(), f.scratch(), f.scratch(), f.scratch(), f.scratch()
	f.blocks(f.param("x_len"), func() {
		f.silu(x, v, m, e, s, t, n, number(slopeMost))
		f.load(u, t)
		f.op("VMULPS", t, v, v)
		f.store(v, y)
	})
}

// swigluBackward computes dx = dy·u·s·(1 + x·(1−s)) and du = dy·x·s, s = σ(x).
func swigluBackward(f *fn) {
	dx, du := f.pointer("dx_base"), f.pointer("du_base")
	x, u, dy := f.pointer("x_base"), f.pointer("u_base"), f.pointer("dy_base")
	c, v, m, e := f.scratch(), f.scratch(), f.scratch(), f.scratch()
	s, t, n := f.scratch(), f.scratch(), f.scratch()
	f.blocks(f.param("x_len"), func() {
		f.load(x, c)
		f.op("VMAXPS", c, f.inRegister(number(-expMost), t), c) // so that −∞·0 is 0
		f.op("VMINPS", c, f.inRegister(number(expMost), v), v)  // and ∞·0 too, in the slope
		f.logistic(s, e, v, m, t, n)
		f.op("VMULPS", s, c, c)
		f.op("VMULPS", e, v, v)
		f.op("VFMADD213PS", s, s, v)
		f.load(dy, t)
		f.op("VMULPS", t, c, c)
		f.store(c, du)
		f.load(u, m)
		f.op("VMULPS", m, t, t)
		f.op("VMULPS", t, v, v)
		f.store(v, dx)
	})
}
