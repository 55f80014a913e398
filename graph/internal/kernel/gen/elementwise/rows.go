package main

import "fmt"

// The kernels of one row at a time. A sum over a row has 16 partial sums, of the entries j ≡ 0 … 15 mod 16.

// next moves pointers one row on, of cols entries.
func (f *fn) next(cols string, pointers ...string) {
	for _, p := range pointers {
		f.op("LEAQ", fmt.Sprintf("(%s)(%s*4)", p, cols), p)
	}
}

const minusInf = 0xff800000

// softmax: x ← e^(x + mask − max)/Σ, row by row, 0 wherever the mask is −∞. The blocks at a row's
// end without any other mask are left out: half of a causal matrix.
func softmax(f *fn) {
	x, mask, cols, rows := f.pointer("x_base"), f.pointer("mask_base"), f.pointer("cols"), f.pointer("rows")
	last, rest, hidden := f.register(), f.register(), f.register()
	v, s, p, t, n, fill := f.temp(), f.temp(), f.temp(), f.temp(), f.temp(), f.temp()
	total := f.lasting()
	top := f.lasting()
	f.set(fill, pair(minusInf))
	f.rows(rows, func() {
		f.visible(mask, cols, last, v, fill)
		f.op("MOVQ", cols, rest)
		f.op("SUBQ", last, rest)
		f.op("LEAQ", fmt.Sprintf("(%s)(%s*4)", x, last), hidden)
		f.set(v, 0)
		f.blocks(rest, func() { f.store(v, hidden) })
		done := f.label("done")
		f.op("TESTQ", last, last)
		f.op("JZ", done)
		f.each(func() { f.op("VMOVAPS", fill, top) })
		f.blocks(last, func() {
			f.load(x, v)
			f.load(mask, t)
			if f.wide() { // −∞ where the mask is, whatever x is there
				f.op("VCMPPS", notEqual, fill, t, "K2")
				f.op("VADDPS", t, v, v)
				f.op("VBLENDMPS", v, fill, "K2", v)
			} else {
				f.op("VADDPS", t, v, v)
				f.op("VCMPPS", equal, fill, t, t)
				f.op("VBLENDVPS", t, fill, v, v)
			}
			f.store(v, x)
			f.beyondIs(v, fill)
			f.op("VMAXPS", v, top, top)
		})
		f.fold("VMAX", top, t)
		f.spread(top)
		f.each(func() { f.set(total, 0) })
		f.blocks(last, func() {
			f.load(x, v)
			f.op("VSUBPS", vec{top[0], top[0]}, v, v)
			f.bound(s, v, number(expLeast), number(expMost))
			f.exp(p, s, t, n, 1, nil)
			f.store(p, x)
			f.beyond(p)
			f.op("VADDPS", p, total, total)
		})
		f.fold("VADD", total, t)
		f.set(t, number(1))
		f.op("VDIVSS", f.low("X", total), f.low("X", t), f.low("X", total))
		f.spread(total)
		f.blocks(last, func() {
			f.load(x, v)
			f.op("VMULPS", vec{total[0], total[0]}, v, v)
			f.store(v, x)
		})
		f.mark(done)
		f.next(cols, x, mask)
	})
}

// visible makes last the number of entries of a row of the mask without the blocks at its end that are −∞ altogether.
func (f *fn) visible(mask, cols, last string, v, fill vec) {
	single, scan, done := f.label("single"), f.label("scan"), f.label("visible")
	f.op("MOVQ", cols, last)
	f.mark(single) // the incomplete block
	f.op("TESTQ", fmt.Sprintf("$%d", block-1), last)
	f.op("JZ", scan)
	f.op("CMPL", fmt.Sprintf("%d(%s)(%s*4)", -bytes, mask, last), fmt.Sprintf("$0x%x", minusInf))
	f.op("LEAQ", fmt.Sprintf("-1(%s)", last), last)
	f.op("JEQ", single)
	f.op("MOVQ", cols, last)
	f.op("JMP", done)
	f.mark(scan)
	f.op("TESTQ", last, last)
	f.op("JZ", done)
	end := func(half int) string {
		return fmt.Sprintf("%d(%s)(%s*4)", bytes*(half*f.lanes-block), mask, last)
	}
	if f.wide() {
		f.op("VPCMPD", notEqual, end(0), fill, "K2")
		f.op("KMOVW", "K2", "R12")
		f.op("TESTL", "R12", "R12")
	} else {
		f.op("VCMPPS", equal, end(0), fill, v)
		f.op("VMOVMSKPS", v, "R12")
		f.op("VCMPPS", equal, end(1), fill, v)
		f.op("VMOVMSKPS", v, "CX")
		f.op("ANDL", "CX", "R12")
		f.op("CMPL", "R12", "$255")
	}
	f.op("JNE", done)
	f.op("SUBQ", fmt.Sprintf("$%d", block), last)
	f.op("JMP", scan)
	f.mark(done)
}

// softmaxBackward: d ← p∘(d − Σ p∘d)·scale, row by row; where p is 0, d does not count.
func softmaxBackward(f *fn) {
	d, p, cols, rows := f.pointer("d_base"), f.pointer("p_base"), f.pointer("cols"), f.pointer("rows")
	scale := f.spreadParam("scale")
	v, w, t, zero := f.temp(), f.temp(), f.temp(), f.temp()
	dot := f.lasting()
	f.set(zero, 0)
	f.rows(rows, func() {
		f.each(func() { f.set(dot, 0) })
		f.blocks(cols, func() {
			f.load(d, v)
			f.load(p, w)
			if f.wide() {
				f.op("VCMPPS", notEqual, zero, w, "K2")
				f.op("VFMADD231PS", v, w, "K2", dot)
			} else {
				f.op("VCMPPS", notEqual, zero, w, t)
				f.op("VANDPS", t, v, v)
				f.op("VFMADD231PS", v, w, dot)
			}
		})
		f.fold("VADD", dot, t)
		f.spread(dot)
		f.blocks(cols, func() {
			f.load(d, v)
			f.load(p, w)
			f.op("VSUBPS", vec{dot[0], dot[0]}, v, v)
			f.op("VMULPS", w, v, v)
			f.op("VMULPS", scale, v, v)
			f.store(v, d)
		})
		f.next(cols, d, p)
	})
}

// expSum: top = max x, total = Σ e^(x − top), in float64.
func expSum(f *fn) {
	x, n := f.pointer("x_base"), f.pointer("x_len")
	v, s, p, t, k := f.temp(), f.temp(), f.temp(), f.temp(), f.temp()
	fill := s
	top, total := f.lasting(), f.double()
	f.set(fill, pair(minusInf))
	f.each(func() { f.op("VMOVAPS", fill, top) })
	f.blocks(n, func() {
		f.load(x, v)
		f.beyondIs(v, fill)
		f.op("VMAXPS", v, top, top)
	})
	f.fold("VMAX", top, t)
	f.op("VMOVSS", f.low("X", top), f.param("top"))
	f.spread(top)
	f.each(func() { f.set(total[0], 0); f.set(total[1], 0) })
	f.blocks(n, func() {
		f.load(x, v)
		f.op("VSUBPS", vec{top[0], top[0]}, v, v)
		f.bound(s, v, number(expLeast), number(expMost))
		f.exp(p, s, t, k, 1, nil)
		f.beyond(p)
		f.widen(total, p, t, func(sum vec) { f.op("VADDPD", t, sum, sum) })
	})
	f.foldDouble(total, t)
	f.op("VMOVSD", f.low("X", total[0]), f.param("total"))
}

// layerNorm: a first mean, then the mean and the variance of the distances from it, so that nothing large cancels.
func layerNorm(f *fn) {
	y, x, w, b := f.pointer("y_base"), f.pointer("x_base"), f.pointer("w_base"), f.pointer("b_base")
	mean, inv, cols, rows := f.pointer("mean_base"), f.pointer("inv_base"), f.pointer("w_len"), f.pointer("inv_len")
	share := f.spreadParam("share")
	v, t, gain := f.temp(), f.temp(), f.temp()
	mu, sum, squares := f.lasting(), f.lasting(), f.lasting()
	low := func(v vec) string { return f.low("X", v) }
	f.rows(rows, func() {
		f.each(func() { f.set(mu, 0); f.set(sum, 0); f.set(squares, 0) })
		f.blocks(cols, func() {
			f.load(x, v)
			f.op("VADDPS", v, mu, mu)
		})
		f.fold("VADD", mu, t)
		f.op("VMULSS", low(share), low(mu), low(mu))
		f.spread(mu)
		f.blocks(cols, func() {
			f.load(x, v)
			f.op("VSUBPS", vec{mu[0], mu[0]}, v, v)
			f.beyond(v)
			f.op("VADDPS", v, sum, sum)
			f.op("VFMADD231PS", v, v, squares)
		})
		f.fold("VADD", sum, t)
		f.fold("VADD", squares, t)
		f.op("VMULSS", low(share), low(sum), low(sum))
		f.op("VMULSS", low(share), low(squares), low(squares))
		f.op("VADDSS", low(sum), low(mu), low(mu))
		f.op("VFNMADD231SS", low(sum), low(sum), low(squares))
		f.set(t, 0)
		f.op("VMAXSS", low(squares), low(t), low(squares)) // NaN stays
		f.op("VADDSS", f.param("eps"), low(squares), low(squares))
		f.op("VSQRTSS", low(squares), low(squares), low(squares))
		f.set(t, number(1))
		f.op("VDIVSS", low(squares), low(t), low(squares))
		f.op("VMOVSS", low(mu), fmt.Sprintf("(%s)", mean))
		f.op("VMOVSS", low(squares), fmt.Sprintf("(%s)", inv))
		f.spread(mu)
		f.spread(squares)
		plain, done := f.label("plain"), f.label("done")
		f.op("TESTQ", b, b)
		f.op("JZ", plain)
		for _, biased := range []bool{true, false} {
			f.blocks(cols, func() {
				f.load(x, v)
				f.load(w, gain)
				f.op("VSUBPS", vec{mu[0], mu[0]}, v, v)
				f.op("VMULPS", vec{squares[0], squares[0]}, v, v)
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
		f.op("ADDQ", "$4", mean)
		f.op("ADDQ", "$4", inv)
	})
}

// layerNormBackward: dw += Σ dy∘x̂, db += Σ dy, dx = (g − share·Σ g − x̂∘share·Σ g∘x̂)/σ with g = dy∘w.
func layerNormBackward(f *fn) {
	dx, dw, db := f.pointer("dx_base"), f.pointer("dw_base"), f.pointer("db_base")
	x, w, dy := f.pointer("x_base"), f.pointer("w_base"), f.pointer("dy_base")
	mean, inv, cols, rows := f.pointer("mean_base"), f.pointer("inv_base"), f.pointer("w_len"), f.pointer("inv_len")
	share := f.spreadParam("share")
	mu, s := f.temp(), f.temp()
	v, d, g, t := f.temp(), f.temp(), f.temp(), f.temp()
	sum, project := f.lasting(), f.lasting()
	f.rows(rows, func() {
		f.op("VBROADCASTSS", fmt.Sprintf("(%s)", mean), mu)
		f.op("VBROADCASTSS", fmt.Sprintf("(%s)", inv), s)
		f.each(func() { f.set(sum, 0); f.set(project, 0) })
		f.blocks(cols, func() {
			f.load(x, v)
			f.op("VSUBPS", mu, v, v)
			f.op("VMULPS", s, v, v)
			f.beyond(v)
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
			f.spread(acc)
		}
		f.blocks(cols, func() {
			f.load(x, v)
			f.load(dy, d)
			f.load(w, g)
			f.op("VSUBPS", mu, v, v)
			f.op("VMULPS", s, v, v)
			f.op("VMULPS", d, g, g)
			f.op("VSUBPS", vec{sum[0], sum[0]}, g, g)
			f.op("VFNMADD231PS", vec{project[0], project[0]}, v, g)
			f.op("VMULPS", s, g, g)
			f.store(g, dx)
		})
		f.next(cols, dx)
		f.mark(skip)
		f.next(cols, x, dy)
		f.op("ADDQ", "$4", mean)
		f.op("ADDQ", "$4", inv)
	})
}
