package main

import "fmt"

// layerNorm stores 1/√(variance + ε) for the backward pass.
func layerNorm(f *fn) {
	f.centred(1, func(variance, t vec, inv string) {
		f.inverseRoot(variance, t)
		f.op("VMOVSS", f.low("X", variance), inv)
	})
}

// centred writes a norm around the mean. It computes a first mean and then, once for each correction, the mean and the
// variance of the distances from it, so that nothing large cancels. factor turns the variance into the factor of the
// distances, and stores a number for the backward pass.
func (f *fn) centred(corrections int, factor func(variance, t vec, spread string)) {
	y, x, w, b := f.pointer("y_base"), f.pointer("x_base"), f.pointer("w_base"), f.pointer("b_base")
	mean, inv, cols, rows := f.pointer("mean_base"), f.pointer("inv_base"), f.pointer("w_len"), f.pointer("inv_len")
	share := f.spreadParam("share")
	v, t, gain := f.scratch(), f.scratch(), f.scratch()
	mu, sum, squares := f.saved(), f.saved(), f.saved()
	low := func(v vec) string { return f.low("X", v) }
	f.rows(rows, func() {
		f.each(func() { f.set(mu, 0); f.set(sum, 0); f.set(squares, 0) })
		f.blocks(cols, func() {
			f.load(x, v)
			f.op("VADDPS", v, mu, mu)
		})
		f.fold("VADD", mu, t)
		f.op("VMULSS", low(share), low(mu), low(mu))
		for i := range corrections {
			if f.spread(mu); i > 0 {
				f.each(func() { f.set(sum, 0); f.set(squares, 0) })
			}
			f.blocks(cols, func() {
				f.load(x, v)
				f.op("VSUBPS", mu.all(), v, v)
				f.clearPastEnd(v)
				f.op("VADDPS", v, sum, sum)
				f.op("VFMADD231PS", v, v, squares)
			})
			f.fold("VADD", sum, t)
			f.fold("VADD", squares, t)
			f.op("VMULSS", low(share), low(sum), low(sum))
			f.op("VMULSS", low(share), low(squares), low(squares))
			f.op("VADDSS", low(sum), low(mu), low(mu))
			f.op("VFNMADD231SS", low(sum), low(sum), low(squares))
		}
		f.set(t, 0)
		f.op("VMAXSS", low(squares), low(t), low(squares)) // NaN stays
		factor(squares, t, fmt.Sprintf("(%s)", inv))
		f.op("VMOVSS", low(mu), fmt.Sprintf("(%s)", mean))
		f.spread(mu)
		f.spread(squares)
		plain, done := f.label("plain"), f.label("done")
		f.op("TESTQ", b, b)
		f.op("JZ", plain)
		for _, biased := range []bool{true, false} {
			f.blocks(cols, func() {
				f.load(x, v)
				f.load(w, gain)
				f.op("VSUBPS", mu.all(), v, v)
				f.op("VMULPS", squares.all(), v, v)
				if biased {
					f.load(b, t)
					f.op("VFMADD213PS", t, gain, v)
				} else {
					f.op("VMULPS", gain, v, v)
				}
				f.store(v, y)
			})
			if biased {
				f.op("JMP", done)
				f.mark(plain)
			}
		}
		f.mark(done)
		f.next(cols, y, x)
		f.advance(mean, inv)
	})
}

// inverseRoot sets the lowest lane of v to 1/√(v + ε). It overwrites t.
func (f *fn) inverseRoot(v, t vec) {
	low := func(v vec) string { return f.low("X", v) }
	f.op("VADDSS", f.param("eps"), low(v), low(v))
	f.op("VSQRTSS", low(v), low(v), low(v))
	f.set(t, number(1))
	f.op("VDIVSS", low(v), low(t), low(v))
}

// layerNormBackward computes dw += Σ dy∘x̂, db += Σ dy, dx = (g − share·Σ g − x̂∘share·Σ g∘x̂)/σ with g = dy∘w.
func layerNormBackward(f *fn) {
	f.centredBackward(func(inv string, to, _ vec) { f.op("VBROADCASTSS", inv, to) }, func(vec, vec, string) {})
}

// centredBackward writes the backward pass of centred. factor loads the factor of the distances, and correct changes
// the mean of g∘x̂ in the lowest lane.
func (f *fn) centredBackward(factor func(spread string, to, t vec), correct func(mean, t vec, spread string)) {
	dx, dw, db := f.pointer("dx_base"), f.pointer("dw_base"), f.pointer("db_base")
	x, w, dy := f.pointer("x_base"), f.pointer("w_base"), f.pointer("dy_base")
	mean, inv, cols, rows := f.pointer("mean_base"), f.pointer("inv_base"), f.pointer("w_len"), f.pointer("inv_len")
	share := f.spreadParam("share")
	mu, s := f.scratch(), f.scratch()
	v, d, g, t := f.scratch(), f.scratch(), f.scratch(), f.scratch()
	sum, project := f.saved(), f.saved()
	f.rows(rows, func() {
		f.op("VBROADCASTSS", fmt.Sprintf("(%s)", mean), mu)
		factor(fmt.Sprintf("(%s)", inv), s, t)
		f.each(func() { f.set(sum, 0); f.set(project, 0) })
		f.blocks(cols, func() {
			f.load(x, v)
			f.op("VSUBPS", mu, v, v)
			f.op("VMULPS", s, v, v)
			f.clearPastEnd(v)
			f.load(dy, d)
			f.load(w, g)
			f.op("VMULPS", d, g, g)
			f.op("VADDPS", g, sum, sum)
			f.op("VFMADD231PS", v, g, project)
			f.load(dw, t)
			f.op("VFMADD231PS", v, d, t)
			f.store(t, dw)
			f.load(db, t)
			f.op("VADDPS", d, t, t)
			f.store(t, db)
		})
		skip := f.label("skip")
		f.op("TESTQ", dx, dx)
		f.op("JZ", skip)
		for _, acc := range []vec{sum, project} {
			f.fold("VADD", acc, t)
			f.op("VMULSS", f.low("X", share), f.low("X", acc), f.low("X", acc))
			if acc == project {
				correct(acc, t, fmt.Sprintf("(%s)", inv))
			}
			f.spread(acc)
		}
		f.blocks(cols, func() {
			f.load(x, v)
			f.load(dy, d)
			f.load(w, g)
			f.op("VSUBPS", mu, v, v)
			f.op("VMULPS", s, v, v)
			f.op("VMULPS", d, g, g)
			f.op("VSUBPS", sum.all(), g, g)
			f.op("VFNMADD231PS", project.all(), v, g)
			f.op("VMULPS", s, g, g)
			f.store(g, dx)
		})
		f.next(cols, dx)
		f.mark(skip)
		f.next(cols, x, dy)
		f.advance(mean, inv)
	})
}
