package main

import "fmt"

// each writes body once for every part of the block.
func (f *fn) each(body func()) {
	for f.part = 0; f.part < block/f.lanes; f.part++ {
		if f.tail && f.arch == "amd64" && !f.wide() {
			f.op("VMOVUPS", fmt.Sprintf("%d(R12)", f.part*f.lanes*bytes), fmt.Sprintf("Y%d", tailMask))
		}
		body()
	}
	f.part = 0
}

// blocks writes a loop over count numbers, 16 at a time. A mask cuts off the last block. In the loop, AX counts bytes.
func (f *fn) blocks(count string, body func()) {
	if f.arch == "arm64" {
		f.neonBlocks(count, body)
		return
	}
	if f.plain {
		f.maskedBlocks(count, body)
		return
	}
	loop, tail, done := f.label("loop"), f.label("tail"), f.label("done")
	f.op("XORQ", "AX", "AX")
	f.op("MOVQ", count, "CX")
	f.op("SHRQ", "$4", "CX")
	f.op("JZ", tail)
	f.mark(loop)
	f.each(body)
	f.op("ADDQ", fmt.Sprintf("$%d", block*bytes), "AX")
	f.op("DECQ", "CX")
	f.op("JNZ", loop)
	f.mark(tail)
	f.op("MOVQ", count, "CX")
	f.op("ANDQ", fmt.Sprintf("$%d", block-1), "CX")
	f.op("JZ", done)
	if f.wide() {
		f.op("MOVL", "$1", "R12")
		f.op("SHLL", "CX", "R12")
		f.op("DECL", "R12")
		f.op("KMOVW", "R12", "K1")
	} else { // the mask of 16 ones and 16 zeros, starting CX ones before the zeros
		f.op("LEAQ", f.pool.masks(0), "R12")
		f.op("SHLQ", "$2", "CX")
		f.op("SUBQ", "CX", "R12")
	}
	f.tail = true
	f.each(body)
	f.tail = false
	f.mark(done)
}

// maskedBlocks writes the loop for plain Go, where FIRST sets a mask to the first lanes, at most all of them.
func (f *fn) maskedBlocks(count string, body func()) {
	loop, done := f.label("loop"), f.label("done")
	f.op("XORQ", "AX", "AX")
	f.op("MOVQ", count, "CX")
	f.mark(loop)
	f.op("FIRST", "CX", "K1")
	f.op("JZ", done)
	f.tail = true
	f.each(body)
	f.tail = false
	f.op("ADDQ", fmt.Sprintf("$%d", block*bytes), "AX")
	f.op("SUBQ", fmt.Sprintf("$%d", block), "CX")
	f.op("JMP", loop)
	f.mark(done)
}

// at returns the address of the present block of a slice.
func (f *fn) at(pointer string) string {
	return fmt.Sprintf("%d(%s)(AX*1)", f.part*f.lanes*bytes, pointer)
}

// load reads a block. The lanes after the end of a slice are 0.
func (f *fn) load(pointer string, v vec) {
	switch {
	case f.arch == "arm64":
		f.neonLoad(pointer, v[f.part])
	case !f.tail:
		f.op("VMOVUPS", f.at(pointer), v)
	case f.wide():
		f.op("VMOVUPS.Z", f.at(pointer), "K1", v)
	default:
		f.op("VMASKMOVPS", f.at(pointer), fmt.Sprintf("Y%d", tailMask), v)
	}
}

// store writes a block, but nothing after the end of a slice.
func (f *fn) store(v vec, pointer string) {
	switch {
	case f.arch == "arm64":
		f.neonStore(v[f.part], pointer)
	case !f.tail:
		f.op("VMOVUPS", v, f.at(pointer))
	case f.wide():
		f.op("VMOVUPS", v, "K1", f.at(pointer))
	default:
		f.op("VMASKMOVPS", v, fmt.Sprintf("Y%d", tailMask), f.at(pointer))
	}
}

// clearPastEnd sets the lanes after the end of a slice to 0.
func (f *fn) clearPastEnd(v vec) {
	switch {
	case !f.tail:
	case f.wide():
		f.op("VMOVAPS.Z", v, "K1", v)
	case f.arch == "arm64":
		f.word("and", v[f.part], v[f.part], neonMask)
	default:
		f.op("VANDPS", fmt.Sprintf("Y%d", tailMask), v, v)
	}
}

// fillPastEnd sets the lanes after the end of a slice to the lanes of fill.
func (f *fn) fillPastEnd(v, fill vec) {
	switch {
	case !f.tail:
	case f.wide():
		f.op("VBLENDMPS", v, fill, "K1", v)
	case f.arch == "arm64":
		f.word("bif", v[f.part], fill[f.part], neonMask)
	default:
		f.op("VBLENDVPS", fmt.Sprintf("Y%d", tailMask), v, fill, v)
	}
}

// rows writes a loop for a general register that counts down from a parameter or register to 0.
func (f *fn) rows(counter string, body func()) {
	loop, done := f.label("row"), f.label("end")
	f.op("TESTQ", counter, counter)
	f.op("JZ", done)
	f.mark(loop)
	body()
	f.op("DECQ", counter)
	f.op("JNZ", loop)
	f.mark(done)
}
