package main

import "fmt"

// The kernels of one row at a time. A sum over a row has 16 partial sums, of the entries j ≡ 0 … 15 mod 16.

// next advances pointers by one row of cols entries.
func (f *fn) next(cols string, pointers ...string) {
	for _, p := range pointers {
		f.op("LEAQ", fmt.Sprintf("(%s)(%s*4)", p, cols), p)
	}
}

// advance advances pointers by one entry.
func (f *fn) advance(pointers ...string) {
	for _, p := range pointers {
		f.op("ADDQ", "$4", p)
	}
}

const (
	plusInf  uint32 = 0x7f800000
	minusInf uint32 = 0xff800000
)

// softmax computes x ← e^(x + mask − max)/Σ, row by row, 0 wherever the mask is −∞. It skips the blocks at a row's end
// in which the mask is −∞ everywhere: half of a causal matrix.
func softmax(f *fn) {
	x, mask, cols, rows := f.pointer("x_base"), f.pointer("mask_base"), f.pointer("cols"), f.pointer("rows")
	last, rest, hidden := f.register(), f.register(), f.register()
	v, s, p, t, n, fill := f.scratch(), f.scratch(), f.scratch(), f.scratch(), f.scratch(), f.scratch()
	total, top := f.saved(), f.saved()
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
			f.addMask(mask, v, t, fill)
			f.store(v, x)
			f.fillPastEnd(v, fill)
			f.op("VMAXPS", v, top, top)
		})
		f.fold("VMAX", top, t)
		f.spread(top)
		f.each(func() { f.set(total, 0) })
		f.blocks(last, func() {
			f.load(x, v)
			f.op("VSUBPS", top.all(), v, v)
			f.expAbove(shareLeast, p, v, s, t, n)
			f.store(p, x)
			f.clearPastEnd(p)
			f.op("VADDPS", p, total, total)
		})
		f.fold("VADD", total, t)
		f.set(t, number(1))
		f.op("VDIVSS", f.low("X", total), f.low("X", t), f.low("X", total))
		f.spread(total)
		f.blocks(last, func() {
			f.load(x, v)
			f.op("VMULPS", total.all(), v, v)
			f.store(v, x)
		})
		f.mark(done)
		f.next(cols, x, mask)
	})
}

// visible sets last to the number of entries in a row of the mask without the blocks at its end that are entirely −∞.
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
	} else if f.arch == "arm64" {
		f.neonSeen(mask, last, v[0], fill[0])
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

// expSum computes top = max x, total = Σ e^(x − top), in float64.
func expSum(f *fn) {
	x, n := f.pointer("x_base"), f.pointer("x_len")
	v, s, p, t, k := f.scratch(), f.scratch(), f.scratch(), f.scratch(), f.scratch()
	fill := s
	top, total := f.saved(), f.double()
	f.set(fill, pair(minusInf))
	f.each(func() { f.op("VMOVAPS", fill, top) })
	f.blocks(n, func() {
		f.load(x, v)
		f.fillPastEnd(v, fill)
		f.op("VMAXPS", v, top, top)
	})
	f.fold("VMAX", top, t)
	f.op("VMOVSS", f.low("X", top), f.param("top"))
	f.spread(top)
	f.each(func() { f.set(total[0], 0); f.set(total[1], 0) })
	f.blocks(n, func() {
		f.load(x, v)
		f.op("VSUBPS", top.all(), v, v)
		f.expAbove(expLeast, p, v, s, t, k)
		f.clearPastEnd(p)
		f.widen(total, p, t, func(sum vec) { f.op("VADDPD", t, sum, sum) })
	})
	f.foldDouble(total, t)
	f.op("VMOVSD", f.low("X", total[0]), f.param("total"))
}
