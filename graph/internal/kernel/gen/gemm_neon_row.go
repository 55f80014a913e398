package main

import "fmt"

// neonRow writes the product of a single row with a matrix stored by rows, 8 vectors at a time and at the end fewer: it
// reads every line of b once. Registers: R0 c, R1 a, R2 lda, R3 b, R4 ldb, R5 d, R6 k, R7 16·ldb, R10 n, R11 … R13
// offsets of lanes 1 … 3 of the last vector; R14 and R15 run through a and b, R19 counts; R8, R20 and R21 scratch.
func (g *gen) neonRow() {
	const most, ahead = 8, 4 // prefetches 2⁴ rows ahead
	args := []arg{
		{"c", "R0"}, {"a", "R1"}, {"lda", "R2"}, {"b", "R3"}, {"ldb", "R4"}, {"d", "R5"}, {"k", "R6"}, {"n", "R10"},
		{"alpha", ""},
	}
	g.function("row", "The same for one row of a and n columns.", args, func() {
		g.op("LSL $2, R2")
		g.op("LSL $2, R4")
		g.op("LSL $%d, R4, R7", ahead)
		g.line("whole:")
		g.op("CMP $%d, R10", most*g.lanes)
		g.op("BLT v%d", most)
		g.neonColumns("whole", most, false)
		g.op("ADD $%d, R3", most*g.bytes())
		g.op("ADD $%d, R0", most*g.bytes())
		g.op("SUB $%d, R10", most*g.lanes)
		g.op("CBZ R5, whole")
		g.op("ADD $%d, R5", most*g.bytes())
		g.op("B whole")
		for vectors := most; vectors > 0; vectors-- {
			label, next := fmt.Sprintf("v%d", vectors), fmt.Sprintf("v%d", vectors-1)
			if vectors == 1 {
				next = "done"
			}
			g.line("%s:", label)
			g.op("CMP $%d, R10", (vectors-1)*g.lanes)
			g.op("BLE %s", next)
			if vectors > 1 {
				g.op("SUB $%d, R10", (vectors-1)*g.lanes)
			}
			g.word(lanePlaces(10, 10, 20))
			g.lastOf(label, func(full bool) { g.neonColumns(fmt.Sprint(label, full), vectors, !full) })
			g.op("B done")
		}
		g.line("done:")
	})
}

// neonColumns writes the product for some vectors of columns, of which the last may be incomplete. V0 holds a number of
// a, V1 … V8 the sums, and V16 … V23 b.
func (g *gen) neonColumns(label string, vectors int, incomplete bool) {
	load := func(v, from, to int) {
		if incomplete && v == vectors-1 {
			g.op("ADD $%d, R%d, R8", v*g.bytes(), from)
			g.word(loadLanes(to, 8, 10, 21))
		} else {
			g.op("FMOVQ %d(R%d), F%d", v*g.bytes(), from, to)
		}
	}
	for v := range vectors {
		g.word(instruction("eor", 1+v, 1+v, 1+v))
	}
	g.op("MOVD R1, R14")
	g.op("MOVD R3, R15")
	g.op("MOVD R6, R19")
	g.line("%sloop:", label)
	g.op("FMOVS (R14), F0")
	g.op("ADD R7, R15, R8")
	for at := 0; at < vectors*g.bytes(); at += 64 {
		g.op("PRFM %d(R8), PLDL1KEEP", at)
	}
	for v := range vectors {
		load(v, 15, 16+v)
	}
	for v := range vectors {
		g.word(byElement(1+v, 16+v, 0, 0))
	}
	g.op("ADD R2, R14")
	g.op("ADD R4, R15")
	g.op("SUBS $1, R19")
	g.op("BGT %sloop", label)
	g.op("FMOVS %s, F0", g.args["alpha"])
	for v := range vectors {
		g.word(byElementProduct(1+v, 1+v, 0))
	}
	g.op("CBZ R5, %sstore", label)
	for v := range vectors {
		load(v, 5, 16)
		g.word(instruction("fadd", 1+v, 1+v, 16))
	}
	g.line("%sstore:", label)
	for v := range vectors {
		if incomplete && v == vectors-1 {
			g.op("ADD $%d, R0, R8", v*g.bytes())
			g.word(storeLanes(1+v, 8, 10, 21))
		} else {
			g.op("FMOVQ F%d, %d(R0)", 1+v, v*g.bytes())
		}
	}
}

// neonDots writes the product of a single row with a matrix stored by columns. Its sums have the same 16 parts in the
// same order as the sums of dots. Registers: R0 c, R1 a, R2 b, R3 ldb, R4 d, R5 k, R6 n; R7 runs through a, R8 … R11
// through rows of b, R12 counts; V0 … V15 the sums, V16 alpha, V24 … V27 a, V28 … V31 b.
func (g *gen) neonDots() {
	args := []arg{
		{"c", "R0"}, {"a", "R1"}, {"b", "R2"}, {"ldb", "R3"}, {"d", "R4"}, {"k", "R5"}, {"n", "R6"}, {"alpha", ""},
	}
	doc := "The same for one row of a and n rows of b, which is stored transposed: " +
		"c[j] = d[j] + alpha·Σ a[l]·b[j·ldb+l]."
	g.function("dots", doc, args, func() {
		g.op("LSL $2, R3")
		g.op("FMOVS %s, F16", g.args["alpha"])
		labels := []string{"several", "single", "done"}
		for i, height := range []int{4, 1} {
			g.line("%s:", labels[i])
			g.op("CMP $%d, R6", height)
			g.op("BLT %s", labels[i+1])
			g.neonSomeDots(labels[i], height)
			g.op("SUB $%d, R6", height)
			g.op("B %s", labels[i])
		}
		g.line("done:")
	})
}

const parts = 4 // number of registers for the 16 parts of a sum

func (g *gen) neonSomeDots(label string, height int) {
	for i := range parts * height {
		g.word(instruction("eor", i, i, i))
	}
	g.op("MOVD R1, R7")
	for i := range height {
		g.op("MOVD R2, R%d", 8+i)
		g.op("ADD R3, R2")
	}
	g.op("SUBS $16, R5, R12")
	g.op("BLT %stail", label)
	g.line("%sloop:", label)
	g.op("VLD1.P 64(R7), [%s]", vectorList(24, parts))
	for i := range height {
		g.op("VLD1.P 64(R%d), [%s]", 8+i, vectorList(28, parts))
		for part := range parts {
			g.word(instruction("fmla", parts*i+part, 28+part, 24+part))
		}
	}
	g.op("SUBS $16, R12")
	g.op("BGE %sloop", label)
	g.line("%stail:", label)
	g.op("ADD $16, R12")
	for part := range parts {
		for _, lanes := range []int{4, 3, 2, 1} {
			next := fmt.Sprintf("%sp%dn%d", label, part, lanes)
			g.op("CMP $%d, R12", lanes)
			g.op("BLT %s", next)
			g.someLanes(7, 24, lanes)
			for i := range height {
				g.someLanes(8+i, 28+i, lanes)
				g.word(instruction("fmla", parts*i+part, 28+i, 24))
			}
			if lanes < 4 || part == parts-1 {
				g.op("B %ssum", label)
			} else {
				g.op("SUB $4, R12")
				g.op("B %sp%dn1", label, part)
			}
			g.line("%s:", next)
		}
	}
	g.line("%ssum:", label)
	for i := range height {
		sum := parts * i
		g.word(instruction("fadd", sum, sum, sum+2))
		g.word(instruction("fadd", sum+1, sum+1, sum+3))
		g.word(instruction("fadd", sum, sum, sum+1))
		g.word(instruction("faddp", sum, sum, sum))
		g.word(instruction("faddp", sum, sum, sum))
		g.op("FMULS F16, F%d, F%[1]d", sum)
	}
	g.op("CBZ R4, %sstore", label)
	for i := range height {
		g.op("FMOVS %d(R4), F24", bytes*i)
		g.op("FADDS F24, F%d, F%[1]d", parts*i)
	}
	g.op("ADD $%d, R4", bytes*height)
	g.line("%sstore:", label)
	for i := range height {
		g.op("FMOVS F%d, %d(R0)", parts*i, bytes*i)
	}
	g.op("ADD $%d, R0", bytes*height)
}

// someLanes loads the given number of lanes of a vector, and sets the others to 0.
func (g *gen) someLanes(pointer, v, lanes int) {
	switch lanes {
	case 4:
		g.op("FMOVQ.P 16(R%d), F%d", pointer, v)
	case 3:
		g.op("FMOVD.P 8(R%d), F%d", pointer, v)
		g.op("VLD1 (R%d), V%d.S[2]", pointer, v)
	case 2:
		g.op("FMOVD (R%d), F%d", pointer, v)
	case 1:
		g.op("FMOVS (R%d), F%d", pointer, v)
	}
}
