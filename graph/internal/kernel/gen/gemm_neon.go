package main

import "fmt"

// neonProducts is the files of the matrix product for arm64.
//
// A tile of c is 12 rows by 2 vectors. The factors of a lie by columns, so that a step of k loads 12 of them and 2
// vectors of b in two instructions and multiplies each vector by each factor in place: nothing is broadcast. Where a lies
// by rows, its callers turn it while they pack it.
func neonProducts(out map[string]string) {
	g := &gen{isa: neon, stubs: newStubs(neon)}
	g.line(header(neon) + "#include \"textflag.h\"")
	g.neonCols()
	g.neonRow()
	g.neonDots()
	g.neonCopyStrip()
	g.neonTranspose()
	g.neonPeak()
	out["gemm/gemm_neon_arm64.s"] = g.text.String()
	out["gemm/gemm_stubs_arm64.go"] = g.stubs.String()
}

func (g *gen) word(text string) { g.text.WriteString(text) }

// Registers of cols: R0 c, R1 ldc, R2 a, R3 lda, R4 b, R5 ldb, R6 d, R7 ldd, R8 k, R9 m, R10 lanes of the last vector,
// R11 … R13 where its lanes 1 … 3 lie, in bytes; R14 and R15 run through a and b, R19 … R21 anything.
func (g *gen) neonCols() {
	args := []arg{{"c", "R0"}, {"ldc", "R1"}, {"a", "R2"}, {"lda", "R3"}, {"b", "R4"}, {"ldb", "R5"}, {"d", "R6"}, {"ldd", "R7"}, {"k", "R8"}, {"m", "R9"}, {"n", "R10"}, {"alpha", ""}}
	doc := "d + alpha·a·b → c for m rows and n ≤ 2 vectors of columns: the columns of a lie lda apart, the rows of b's strip ldb."
	g.function("cols", doc, args, func() {
		for _, r := range []int{1, 3, 5, 7} {
			g.op("LSL $2, R%d", r)
		}
		g.op("CMP $%d, R10", g.lanes)
		g.op("BLE v1")
		g.op("SUB $%d, R10", g.lanes)
		for vectors := 2; vectors > 0; vectors-- {
			g.line("v%d:", vectors)
			g.lanesOfTail("R10")
			for i, height := range g.heights {
				label, next := fmt.Sprintf("v%dh%d", vectors, height), "done"
				if i+1 < len(g.heights) {
					next = fmt.Sprintf("v%dh%d", vectors, g.heights[i+1])
				}
				g.line("%s:", label)
				g.op("CMP $%d, R9", height)
				g.op("BLT %s", next)
				g.neonTile(label, tile{height, vectors, true})
				g.op("ADD $%d, R2", bytes*height)
				g.op("SUB $%d, R9", height)
				if i == 0 {
					g.op("B %s", label)
				}
			}
			if vectors == 2 {
				g.op("B done")
			}
		}
		g.line("done:")
	})
}

// lanesOfTail makes R11 … R13 the places of lanes 1 … 3 of a vector of which only some count, at least one: those behind
// lie where the last does. R19 and R20 are lost.
func (g *gen) lanesOfTail(count string) {
	g.op("SUB $1, %s, R13", count)
	g.op("LSL $2, R13")
	for lane, r := range []string{"R11", "R12"} {
		g.op("MOVD $%d, R20", bytes*(lane+1))
		g.op("CMP R20, R13")
		g.op("CSEL LT, R13, R20, %s", r)
	}
}

func (g *gen) neonTile(label string, t tile) {
	for i := g.sum(t, 0, 0); i < g.count; i++ {
		g.word(instruction("eor", i, i, i))
	}
	if t.height > 1 { // the rows of c that the tile will end in
		g.op("MOVD R0, R20")
		for range t.height {
			g.op("PRFM (R20), PLDL1KEEP")
			g.op("ADD R1, R20")
		}
	}
	g.op("MOVD R2, R14")
	g.op("MOVD R4, R15")
	g.op("SUBS $%d, R8, R19", unroll)
	g.op("BLT %stail", label)
	g.line("%sloop:", label)
	for range unroll {
		g.neonStep(t)
	}
	g.op("SUBS $%d, R19", unroll)
	g.op("BGE %sloop", label)
	g.line("%stail:", label)
	g.op("ADDS $%d, R19", unroll)
	g.op("BEQ %send", label)
	g.line("%sone:", label)
	g.neonStep(t)
	g.op("SUBS $1, R19")
	g.op("BGT %sone", label)
	g.line("%send:", label)
	g.neonScale(label, t)
	g.neonAdd(label, t)
	g.neonStore(label, t)
}

// neonStep adds the products of one k: registers 0 … 2 a's column, then b's row.
func (g *gen) neonStep(t tile) {
	switch t.height {
	case 1:
		g.op("FMOVS (R14), F0")
		g.op("ADD R3, R14")
	case 2:
		g.op("VLD1.P (R14)(R3), [V0.S2]")
	default:
		g.op("VLD1.P (R14)(R3), [%s]", vectorList(0, t.height/g.lanes))
	}
	const b = 3
	g.op("VLD1.P (R15)(R5), [%s]", vectorList(b, t.vectors))
	for row := range t.height {
		for v := range t.vectors {
			g.word(byElement(g.sum(t, row, v), b+v, row/g.lanes, row%g.lanes))
		}
	}
}

// vectorList is n registers, as the assembler lists them.
func vectorList(first, n int) string {
	text := ""
	for i := range n {
		text += fmt.Sprintf(", V%d.S4", first+i)
	}
	return text[2:]
}

// neonScale multiplies by alpha unless that is 1.
func (g *gen) neonScale(label string, t tile) {
	g.op("MOVWU %s, R20", g.args["alpha"])
	g.op("MOVD $0x3f800000, R21")
	g.op("CMPW R21, R20")
	g.op("BEQ %sscaled", label)
	g.op("FMOVS %s, F0", g.args["alpha"])
	for i := g.sum(t, 0, 0); i < g.count; i++ {
		g.word(byElementProduct(i, i, 0))
	}
	g.line("%sscaled:", label)
}

// neonAdd adds the rows of d, if there is a d, and moves d on.
func (g *gen) neonAdd(label string, t tile) {
	g.op("CBZ R6, %sadded", label)
	g.lastOf(label+"add", func(full bool) {
		for row := range t.height {
			for v := range t.vectors {
				if acc := g.sum(t, row, v); v+1 < t.vectors || full {
					g.op("FMOVQ %d(R6), F0", v*g.bytes())
					g.word(instruction("fadd", acc, acc, 0))
				} else {
					g.op("ADD $%d, R6, R20", v*g.bytes())
					g.loadLanes(0)
					g.word(instruction("fadd", acc, acc, 0))
				}
			}
			g.op("ADD R7, R6")
		}
	})
	g.line("%sadded:", label)
}

// neonStore writes the tile to c and moves c on.
func (g *gen) neonStore(label string, t tile) {
	g.lastOf(label+"store", func(full bool) {
		for row := range t.height {
			for v := range t.vectors {
				if acc := g.sum(t, row, v); v+1 < t.vectors || full {
					g.op("FMOVQ F%d, %d(R0)", acc, v*g.bytes())
				} else {
					g.op("ADD $%d, R0, R20", v*g.bytes())
					g.storeLanes(acc)
				}
			}
			g.op("ADD R1, R0")
		}
	})
}

// lastOf writes body for a last vector that is full and for one that is not.
func (g *gen) lastOf(label string, body func(full bool)) {
	g.op("CMP $%d, R10", g.lanes)
	g.op("BEQ %sfull", label)
	body(false)
	g.op("B %send", label)
	g.line("%sfull:", label)
	body(true)
	g.line("%send:", label)
}

// loadLanes loads a vector from R20 on, of which R11 … R13 say where its lanes lie. R21 is lost.
func (g *gen) loadLanes(v int) {
	g.op("FMOVS (R20), F%d", v)
	for lane := 1; lane < g.lanes; lane++ {
		g.op("ADD R%d, R20, R21", 10+lane)
		g.op("VLD1 (R21), V%d.S[%d]", v, lane)
	}
}

// storeLanes stores one the same way. The last lane that counts comes after those behind it, so it is what stays.
func (g *gen) storeLanes(v int) {
	for lane := g.lanes - 1; lane > 0; lane-- {
		g.op("ADD R%d, R20, R21", 10+lane)
		g.op("VST1 V%d.S[%d], (R21)", v, lane)
	}
	g.op("FMOVS F%d, (R20)", v)
}

// neonCopyStrip copies two vectors per row.
func (g *gen) neonCopyStrip() {
	args := []arg{{"dst", "R0"}, {"src", "R1"}, {"ld", "R2"}, {"k", "R3"}}
	g.function("copyStrip", "k rows of 2 vectors each, ld apart → one behind the other.", args, func() {
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
	g.function("transpose", "One vector of rows, ld apart, n vectors long → n·vector rows of one vector, as far apart as said.", args, func() {
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

// neonPeak multiplies and adds in as many registers as keep four units busy.
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

// neonRepeat writes a loop that runs as often as register says, if that is above 0.
func (g *gen) neonRepeat(register string, body func()) {
	g.op("CMP $0, %s", register)
	g.op("BLE done")
	g.line("loop:")
	body()
	g.op("SUBS $1, %s", register)
	g.op("BGT loop")
	g.line("done:")
}
