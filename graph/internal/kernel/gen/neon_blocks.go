package main

// neonBlocks is blocks for NEON: the last block goes part by part, with no part of which no lane counts.
func (f *fn) neonBlocks(count string, body func()) {
	loop, tail, done := f.label("loop"), f.label("tail"), f.label("done")
	for part := range block / f.lanes {
		f.write("MOVD $%d, R%d", part*f.lanes*bytes, partIndex+part)
	}
	f.write("MOVD %s, R%d", count, blocksLeft)
	f.write("LSR $4, R%d", blocksLeft)
	f.write("CBZ R%d, %s", blocksLeft, tail)
	f.mark(loop)
	f.each(body)
	for part := range block / f.lanes {
		f.write("ADD $%d, R%d", block*bytes, partIndex+part)
	}
	f.write("SUBS $1, R%d", blocksLeft)
	f.write("BNE %s", loop)
	f.mark(tail)
	f.write("MOVD %s, R%d", count, blocksLeft)
	f.write("ANDS $%d, R%d", block-1, blocksLeft)
	f.write("BEQ %s", done)
	f.tail = true
	for f.part = range block / f.lanes {
		if f.part > 0 {
			f.write("SUBS $%d, R%d", f.lanes, blocksLeft)
			f.write("BLE %s", done)
		}
		f.lanesLeft()
		body()
	}
	f.part, f.tail = 0, false
	f.mark(done)
}

// lanesLeft sets the mask of the lanes that count, at least one, and where the others lie: those behind the last that
// counts lie where it does, so that nothing behind it is read or written.
func (f *fn) lanesLeft() {
	const last = laneIndex + 3
	f.write("MOVD $%d, R%d", f.lanes, address)
	f.write("CMP R%d, R%d", address, blocksLeft)
	f.write("CSEL LT, R%d, R%d, R%d", blocksLeft, address, last)
	f.write("MOVD $%s, R%d", f.pool.masks(), address)
	f.write("SUB R%d<<2, R%d", last, address)
	f.write("FMOVQ (R%d), F%d", address, neonMask)
	f.write("SUB $1, R%d", last)
	f.write("LSL $2, R%d", last)
	for lane := 1; lane < f.lanes-1; lane++ {
		f.write("MOVD $%d, R%d", lane*bytes, address)
		f.write("CMP R%d, R%d", address, last)
		f.write("CSEL LT, R%d, R%d, R%d", last, address, laneIndex+lane)
	}
}

// neonLoad is load: of the last block, lane by lane.
func (f *fn) neonLoad(pointer string, v int) {
	if !f.tail {
		f.text.WriteString(indexed("ldr", v, general(pointer), partIndex+f.part))
		return
	}
	f.write("ADD R%d, %s, R%d", partIndex+f.part, pointer, address)
	f.write("FMOVS (R%d), F%d", address, v)
	for lane := 1; lane < f.lanes; lane++ {
		f.write("ADD R%d, R%d, R%d", laneIndex+lane, address, anything)
		f.write("VLD1 (R%d), V%d.S[%d]", anything, v, lane)
	}
	f.word("and", v, v, neonMask)
}

// neonStore is store. The last lane that counts comes after those behind it, so it is what stays.
func (f *fn) neonStore(v int, pointer string) {
	if !f.tail {
		f.text.WriteString(indexed("str", v, general(pointer), partIndex+f.part))
		return
	}
	f.write("ADD R%d, %s, R%d", partIndex+f.part, pointer, address)
	for lane := f.lanes - 1; lane > 0; lane-- {
		f.write("ADD R%d, R%d, R%d", laneIndex+lane, address, anything)
		f.write("VST1 V%d.S[%d], (R%d)", v, lane, anything)
	}
	f.write("FMOVS F%d, (R%d)", v, address)
}

// neonSeen compares the 16 entries of a mask before the one that last counts with fill: equal if all are.
func (f *fn) neonSeen(mask, last string, v, fill int) {
	f.write("ADD %s<<2, %s, R%d", last, mask, address)
	for part := range block / f.lanes {
		to := spareVec
		if part == 0 {
			to = v
		}
		f.write("FMOVQ %d(R%d), F%d", bytes*(part*f.lanes-block), address, to)
		f.word("fcmeq", to, to, fill)
		if part > 0 {
			f.word("and", v, v, to)
		}
	}
	f.word("uminv", v, v)
	f.write("FMOVS F%d, R%d", v, anything)
	f.write("CMNW $1, R%d", anything)
}

// neonFold is fold: op is VADD or VMAX.
func (f *fn) neonFold(op string, v vec, t int) {
	op = neonVectors[op+"PS"]
	f.word(op, v[0], v[0], v[2])
	f.word(op, v[1], v[1], v[3])
	f.word(op, v[0], v[0], v[1])
	f.word("trn2 2d", t, v[0], v[0])
	f.word(op, v[0], v[0], t)
	f.word("trn2", t, v[0], v[0])
	f.word(op, v[0], v[0], t)
}

func (f *fn) neonFoldDouble(sum double, t int) {
	for _, v := range sum {
		f.word("fadd 2d", v[0], v[0], v[2])
		f.word("fadd 2d", v[1], v[1], v[3])
		f.word("fadd 2d", v[0], v[0], v[1])
	}
	v := sum[0][0]
	f.word("fadd 2d", v, v, sum[1][0])
	f.word("trn2 2d", t, v, v)
	f.word("fadd 2d", v, v, t)
}

// neonHorner is horner. The sum takes turns between two registers, since it goes where the constant is.
func (f *fn) neonHorner(p, x int, c []constant) {
	last := len(c) - 1
	sum, next := p, spareVec
	if last%2 == 1 {
		sum, next = next, sum
	}
	f.write("FMOVQ %s, F%d", f.pool.near(c[last]), sum)
	for k := last - 1; k >= 0; k-- {
		f.write("FMOVQ %s, F%d", f.pool.near(c[k]), next)
		f.word("fmla", next, x, sum)
		sum, next = next, sum
	}
}

// neonMultiply makes z = z·m in lanes of 64 bits: the product of the lower halves, and of each with the other's upper one.
func (f *fn) neonMultiply(z, t, u, m int) {
	f.word("rev64", t, z)
	f.word("mul", t, t, m)
	f.word("xtn", u, z)
	f.word("uaddlp", z, t)
	f.text.WriteString(shift("shl", z, z, 32, 8))
	f.word("umlal", z, u, m)
}
