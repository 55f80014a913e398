package main

// swiglu computes y = x/(1 + e^(−x))·u.
func swiglu(f *fn) {
	y, x, u := f.pointer("y_base"), f.pointer("x_base"), f.pointer("u_base")
	v, r := f.scratch(), f.sigma()
	f.blocks(f.param("x_len"), func() {
		f.silu(r, x, v, number(slopeMost))
		f.load(u, r.t)
		f.op("VMULPS", r.t, v, v)
		f.store(v, y)
	})
}

// swigluBackward computes dx = dy·u·s·(1 + x·(1−s)) and du = dy·x·s, s = σ(x).
func swigluBackward(f *fn) {
	dx, du := f.pointer("dx_base"), f.pointer("du_base")
	x, u, dy := f.pointer("x_base"), f.pointer("u_base"), f.pointer("dy_base")
	c, v, r := f.scratch(), f.scratch(), f.sigma()
	f.blocks(f.param("x_len"), func() {
		f.load(x, c)
		f.op("VMAXPS", c, f.inRegister(number(-expMost), r.t), c) // so that −∞·0 is 0
		f.op("VMINPS", c, f.inRegister(number(expMost), v), v)    // and ∞·0 too, in the slope
		f.logistic(r, v)
		f.op("VMULPS", r.s, c, c)
		f.op("VMULPS", r.e, v, v)
		f.op("VFMADD213PS", r.s, r.s, v)
		f.load(dy, r.t)
		f.op("VMULPS", r.t, c, c)
		f.store(c, du)
		f.load(u, r.m)
		f.op("VMULPS", r.m, r.t, r.t)
		f.op("VMULPS", r.t, v, v)
		f.store(v, dx)
	})
}
