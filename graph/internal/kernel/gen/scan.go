package main

import "fmt"

// These kernels advance a recurrence entry by entry, for all entries of one token. The states stay in float64, in
// memory for entire blocks. Products and sums are rounded separately, so that plain Go gives the same bits.

// advance computes carry = carry + (c·carry + b) and h = carry.
func advance(f *fn) {
	f.carried(func(state, b, c vec) {
		f.op("VMULPD", state, c, c)
		f.op("VADDPD", b, c, c)
		f.op("VADDPD", c, state, state)
	})
}

// average computes carry = carry + c·(carry − b) and h = carry.
func average(f *fn) {
	f.carried(func(state, b, c vec) {
		f.op("VSUBPD", b, state, b)
		f.op("VMULPD", b, c, c)
		f.op("VADDPD", c, state, state)
	})
}

// carried writes a loop over the entries of a token, in which step computes the next state from b and c.
func (f *fn) carried(step func(state, b, c vec)) {
	h, b, c, carry := f.pointer("h_base"), f.pointer("b_base"), f.pointer("c_base"), f.pointer("carry")
	x, y, result := f.scratch(), f.scratch(), f.scratch()
	u, v, state := f.scratch(), f.scratch(), f.scratch()
	f.blocks(f.param("h_len"), func() {
		f.load(b, x)
		f.load(c, y)
		for half := range 2 {
			f.half(x, u, half)
			f.half(y, v, half)
			f.loadState(carry, half, state)
			step(state, u, v)
			f.storeState(state, carry, half)
			f.narrow(state, result, u, half)
		}
		f.store(result, h)
	})
}

// stateAt returns the address of half of the present part of the states.
func (f *fn) stateAt(carry string, half int) string {
	return fmt.Sprintf("%d(%s)(AX*2)", (2*f.part+half)*f.lanes*bytes, carry)
}

// loadState reads half of the present part of the states.
func (f *fn) loadState(carry string, half int, to vec) {
	if f.arch == "arm64" {
		f.write("ADD R%d<<1, %s, R%d", partIndex+f.part, carry, address)
		f.write("FMOVQ %d(R%d), F%d", half*f.lanes*bytes, address, to[f.part])
		return
	}
	f.op("VMOVUPD", f.stateAt(carry, half), to)
}

// storeState writes half of the present part of the states.
func (f *fn) storeState(v vec, carry string, half int) {
	if f.arch == "arm64" {
		f.write("ADD R%d<<1, %s, R%d", partIndex+f.part, carry, address)
		f.write("FMOVQ F%d, %d(R%d)", v[f.part], half*f.lanes*bytes, address)
		return
	}
	f.op("VMOVUPD", v, f.stateAt(carry, half))
}

// averageBackward computes dc = r∘(before − b) and r ← −c∘r.
func averageBackward(f *fn) {
	dc, r, before := f.pointer("dc_base"), f.pointer("r_base"), f.pointer("before_base")
	b, c := f.pointer("b_base"), f.pointer("c_base")
	v, u := f.scratch(), f.scratch()
	f.blocks(f.param("r_len"), func() {
		f.load(before, v)
		f.load(b, u)
		f.op("VSUBPS", u, v, v)
		f.load(r, u)
		f.op("VMULPS", v, u, v)
		f.store(v, dc)
		f.load(c, v)
		f.op("VMULPS", v, u, u)
		f.xor(pair(1<<31), u, u)
		f.store(u, r)
	})
}
