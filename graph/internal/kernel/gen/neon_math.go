package main

// The arithmetic of the kernels in NEON.

// neonSeen compares the 16 entries of a mask before entry last with fill: equal if all are.
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

// neonFold is fold for NEON: op is VADD or VMAX.
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

// neonHorner is horner for NEON. The sum alternates between two registers, since it replaces the constant.
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

// neonMultiply computes z = z·m in lanes of 64 bits, from the product of the lower halves and the products of each
// lower half with the other's upper half.
func (f *fn) neonMultiply(z, t, u, m int) {
	f.word("rev64", t, z)
	f.word("mul", t, t, m)
	f.word("xtn", u, z)
	f.word("uaddlp", z, t)
	f.text.WriteString(shift("shl", z, z, 32, 8))
	f.word("umlal", z, u, m)
}
