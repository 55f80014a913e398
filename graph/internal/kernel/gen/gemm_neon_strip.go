package main

// neonCopyStrip copies two vectors per row.
func (g *gen) neonCopyStrip() {
	args := []arg{{"dst", "R0"}, {"src", "R1"}, {"ld", "R2"}, {"k", "R3"}}
	g.function("copyStrip", "k rows of 2 vectors each, ld apart → contiguous rows.", args, func() {
		g.op("LSL $2, R2")
		g.neonRepeat("R3", func() {
			g.op("VLD1.P (R1)(R2), [%s]", vectorList(0, 2))
			g.op("VST1.P [%s], %d(R0)", vectorList(0, 2), 2*g.bytes())
		})
	})
}

// neonTranspose works on squares of 4 × 4 in registers.
func (g *gen) neonTranspose() {
	args := []arg{{"dst", "R0"}, {"apart", "R1"}, {"src", "R2"}, {"ld", "R3"}, {"n", "R4"}}
	doc := "One vector of rows, ld apart, n vectors long → n·vector rows of one vector, the given number apart."
	g.function("transpose", doc, args, func() {
		g.op("LSL $2, R1")
		g.op("LSL $2, R3")
		for row, before := range []int{2, 5, 6} { // R2, R5, R6, R7
			g.op("ADD R3, R%d, R%d", before, 5+row)
		}
		g.neonRepeat("R4", func() {
			for row, r := range []int{2, 5, 6, 7} {
				g.op("FMOVQ.P %d(R%d), F%d", g.bytes(), r, row)
			}
			g.word(instruction("trn1", 4, 0, 1)) // 00 10 02 12
			g.word(instruction("trn2", 5, 0, 1)) // 01 11 03 13
			g.word(instruction("trn1", 6, 2, 3)) // 20 30 22 32
			g.word(instruction("trn2", 7, 2, 3))
			g.word(instruction("trn1 2d", 0, 4, 6))
			g.word(instruction("trn1 2d", 1, 5, 7))
			g.word(instruction("trn2 2d", 2, 4, 6))
			g.word(instruction("trn2 2d", 3, 5, 7))
			for column := range 4 {
				g.op("VST1.P [V%d.S4], (R0)(R1)", column)
			}
		})
	})
}

// neonPeak multiplies and adds in enough registers to keep four units busy.
func (g *gen) neonPeak() {
	g.function("peak", "24 multiplications and additions of vectors, n times.", []arg{{"n", "R0"}}, func() {
		for i := range 26 {
			g.word(instruction("eor", i, i, i))
		}
		g.neonRepeat("R0", func() {
			for i := range 24 {
				g.word(instruction("fmla", 2+i, 1, 0))
			}
		})
	})
}

// neonRepeat writes a loop that runs the number of times given by a register, if that is above 0.
func (g *gen) neonRepeat(register string, body func()) {
	g.op("CMP $0, %s", register)
	g.op("BLE done")
	g.line("loop:")
	body()
	g.op("SUBS $1, %s", register)
	g.op("BGT loop")
	g.line("done:")
}
