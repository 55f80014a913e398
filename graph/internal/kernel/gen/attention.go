package main

import "fmt"

// The kernels of a tile of attention, row by row.

// masked writes body twice, for tiles with and without a mask.
func (f *fn) masked(mask string, body func(masked bool)) {
	plain, done := f.label("plain"), f.label("done")
	f.op("TESTQ", mask, mask)
	f.op("JZ", plain)
	body(true)
	f.op("JMP", done)
	f.mark(plain)
	body(false)
	f.mark(done)
}

// addMask adds the present block of the mask to v. Where the mask is −∞, v becomes −∞ even if it was NaN or ∞.
func (f *fn) addMask(mask string, v, t, fill vec) {
	f.load(mask, t)
	if f.wide() {
		f.op("VCMPPS", notEqual, fill, t, "K2")
		f.op("VADDPS", t, v, v)
		f.op("VBLENDMPS", v, fill, "K2", v)
		return
	}
	f.op("VADDPS", t, v, v)
	f.op("VCMPPS", equal, fill, t, t)
	f.op("VBLENDVPS", t, fill, v, v)
}

// nextMask advances the pointer to the mask by a row, if there is a mask.
func (f *fn) nextMask(mask, stride string) {
	done := f.label("unmasked")
	f.op("TESTQ", mask, mask)
	f.op("JZ", done)
	f.next(stride, mask)
	f.mark(done)
}

// softmaxTile computes x += mask, m = max(top, x), keep = e^(top − m), ℓ = total·keep + Σ e^(x − m); then top ← m, keep
// ← keep·total/ℓ, total ← ℓ, x ← e^(x − m)/ℓ. ℓ is at least 1, the largest number's share, or 0 before the first
// number.
func softmaxTile(f *fn) {
	x, mask := f.pointer("x_base"), f.pointer("mask_base")
	top, total, keep := f.pointer("top_base"), f.pointer("total_base"), f.pointer("keep_base")
	cols, stride, rows := f.pointer("cols"), f.pointer("stride"), f.pointer("top_len")
	v, s, p, t, n := f.scratch(), f.scratch(), f.scratch(), f.scratch(), f.scratch()
	fill, factor := f.scratch(), f.scratch()
	most, sum := f.saved(), f.saved()
	low := func(v vec) string { return f.low("X", v) }
	at := func(pointer string) string { return fmt.Sprintf("(%s)", pointer) }
	f.set(fill, pair(minusInf))
	f.rows(rows, func() {
		f.each(func() {
			f.op("VBROADCASTSS", at(top), most)
			f.set(sum, 0)
		})
		f.masked(mask, func(masked bool) {
			f.blocks(cols, func() {
				f.load(x, v)
				if masked {
					f.addMask(mask, v, t, fill)
					f.store(v, x)
				}
				f.fillPastEnd(v, fill)
				f.op("VMAXPS", v, most, most)
			})
		})
		f.fold("VMAX", most, t)
		f.spread(most)
		f.op("VBROADCASTSS", at(top), v)
		f.op("VMOVSS", low(most), at(top))
		f.op("VSUBPS", most, v, v)
		f.expAbove(shareLeast, factor, v, s, t, n)
		f.blocks(cols, func() {
			f.load(x, v)
			f.op("VSUBPS", most.all(), v, v)
			f.expAbove(shareLeast, p, v, s, t, n)
			f.store(p, x)
			f.clearPastEnd(p)
			f.op("VADDPS", p, sum, sum)
		})
		f.fold("VADD", sum, t)
		f.op("VMULSS", at(total), low(factor), low(factor))
		f.op("VADDSS", low(factor), low(sum), low(sum))
		f.op("VMOVSS", low(sum), at(total))
		f.inverse(sum, t)
		f.op("VMULSS", low(sum), low(factor), low(factor))
		f.op("VMOVSS", low(factor), at(keep))
		f.blocks(cols, func() {
			f.load(x, v)
			f.op("VMULPS", sum.all(), v, v)
			f.store(v, x)
		})
		f.next(cols, x)
		f.nextMask(mask, stride)
		f.advance(top, total, keep)
	})
}

// inverse broadcasts 1/max(1, v) of the lowest lane of v to all lanes. NaN stays NaN.
func (f *fn) inverse(v, t vec) {
	f.set(t, number(1))
	f.op("VMAXSS", f.low("X", v), f.low("X", t), f.low("X", v))
	f.op("VDIVSS", f.low("X", v), f.low("X", t), f.low("X", v))
	f.spread(v)
}

// softmaxTileBackward computes x ← e^(x + mask − top)/total, d ← x∘(d − dot).
func softmaxTileBackward(f *fn) {
	d, x, mask := f.pointer("d_base"), f.pointer("x_base"), f.pointer("mask_base")
	top, total, dot := f.pointer("top_base"), f.pointer("total_base"), f.pointer("dot_base")
	cols, stride, rows := f.pointer("cols"), f.pointer("stride"), f.pointer("top_len")
	v, s, p, t, n, fill := f.scratch(), f.scratch(), f.scratch(), f.scratch(), f.scratch(), f.scratch()
	most, share, project := f.scratch(), f.scratch(), f.scratch()
	f.set(fill, pair(minusInf))
	f.rows(rows, func() {
		f.op("VBROADCASTSS", fmt.Sprintf("(%s)", top), most)
		f.op("VBROADCASTSS", fmt.Sprintf("(%s)", dot), project)
		f.op("VMOVSS", fmt.Sprintf("(%s)", total), f.low("X", share))
		f.inverse(share, t)
		f.masked(mask, func(masked bool) {
			f.blocks(cols, func() {
				f.load(x, v)
				if masked {
					f.addMask(mask, v, t, fill)
				}
				f.op("VSUBPS", most, v, v)
				f.expAbove(shareLeast, p, v, s, t, n)
				f.op("VMULPS", share, p, p)
				f.store(p, x)
				f.load(d, v)
				f.op("VSUBPS", project, v, v)
				f.op("VMULPS", p, v, v)
				f.store(v, d)
			})
		})
		f.next(cols, d, x)
		f.nextMask(mask, stride)
		f.advance(top, total, dot)
	})
}

// sigmoidTile computes x ← σ(x + mask − shift), 0 where it is below 2⁻⁸⁰.
func sigmoidTile(f *fn) {
	x := f.pointer("x_base")
	f.sigmoidRows(x, func(v vec, r sigma) {
		f.expBound(r.e, r.m, r.s, r.t, r.n)
		f.set(v, number(1))
		f.shareUpTo(number(slopeMost), v, r.e, r.t, r.n)
		f.store(v, x)
	}, x)
}

// sigmoidTileBackward computes x ← σ(x + mask − shift), d ← d∘x(1 − x).
func sigmoidTileBackward(f *fn) {
	d, x := f.pointer("d_base"), f.pointer("x_base")
	f.sigmoidRows(x, func(v vec, r sigma) {
		f.logisticOf(r)
		f.store(r.s, x)
		f.op("VMULPS", r.s, r.e, r.e)
		f.load(d, v)
		f.op("VMULPS", v, r.e, r.e)
		f.store(r.e, d)
	}, d, x)
}

// sigmoidRows passes body the blocks of every row of x with r.m = shift − x − mask, and advances the pointers by a row.
func (f *fn) sigmoidRows(x string, body func(v vec, r sigma), pointers ...string) {
	mask, shift := f.pointer("mask_base"), f.pointer("shift_base")
	cols, stride, rows := f.pointer("cols"), f.pointer("stride"), f.pointer("shift_len")
	v, r, less, fill := f.scratch(), f.sigma(), f.scratch(), f.scratch()
	f.set(fill, pair(minusInf))
	f.rows(rows, func() {
		f.op("VBROADCASTSS", fmt.Sprintf("(%s)", shift), less)
		f.masked(mask, func(masked bool) {
			f.blocks(cols, func() {
				f.load(x, v)
				if masked {
					f.addMask(mask, v, r.t, fill)
				}
				f.op("VSUBPS", v, less, r.m)
				body(v, r)
			})
		})
		f.next(cols, pointers...)
		f.nextMask(mask, stride)
		f.advance(shift)
	})
}

// dotRows computes dot = Σ x∘y of rows that lie stride apart.
func dotRows(f *fn) {
	dot, x, y := f.pointer("dot_base"), f.pointer("x_base"), f.pointer("y_base")
	cols, stride, rows := f.pointer("cols"), f.pointer("stride"), f.pointer("dot_len")
	v, w, t := f.scratch(), f.scratch(), f.scratch()
	sum := f.saved()
	f.rows(rows, func() {
		f.each(func() { f.set(sum, 0) })
		f.blocks(cols, func() {
			f.load(x, v)
			f.load(y, w)
			f.op("VFMADD231PS", v, w, sum)
		})
		f.fold("VADD", sum, t)
		f.op("VMOVSS", f.low("X", sum), fmt.Sprintf("(%s)", dot))
		f.next(stride, x, y)
		f.advance(dot)
	})
}

// scaleRows computes x ← factor·x in rows that lie stride apart.
func scaleRows(f *fn) {
	x, factor, cols := f.pointer("x_base"), f.pointer("factor_base"), f.pointer("cols")
	stride, rows := f.pointer("stride"), f.pointer("factor_len")
	v, k := f.scratch(), f.scratch()
	f.rows(rows, func() {
		f.op("VBROADCASTSS", fmt.Sprintf("(%s)", factor), k)
		f.blocks(cols, func() {
			f.load(x, v)
			f.op("VMULPS", k, v, v)
			f.store(v, x)
		})
		f.next(stride, x)
		f.advance(factor)
	})
}

// scaleCols multiplies every column of x by its factor.
func scaleCols(f *fn) {
	x, factor, cols := f.pointer("x_base"), f.pointer("factor_base"), f.pointer("factor_len")
	rows, stride := f.pointer("rows"), f.pointer("stride")
	v, k := f.scratch(), f.scratch()
	f.rows(rows, func() {
		f.blocks(cols, func() {
			f.load(x, v)
			f.load(factor, k)
			f.op("VMULPS", k, v, v)
			f.store(v, x)
		})
		f.next(stride, x)
	})
}

// mulAddRows adds every row of x, multiplied by its factor, to the row of z.
func mulAddRows(f *fn) {
	z, x, factor := f.pointer("z_base"), f.pointer("x_base"), f.pointer("factor_base")
	cols, stride, rows := f.pointer("cols"), f.pointer("stride"), f.pointer("factor_len")
	v, sum, k := f.scratch(), f.scratch(), f.scratch()
	f.rows(rows, func() {
		f.op("VBROADCASTSS", fmt.Sprintf("(%s)", factor), k)
		f.blocks(cols, func() {
			f.load(x, v)
			f.load(z, sum)
			f.op("VFMADD231PS", k, v, sum)
			f.store(sum, z)
		})
		f.next(stride, z, x)
		f.advance(factor)
	})
}
