package main

import "fmt"

// neonProducts writes the files of the matrix product for arm64.
//
// A tile of c is 12 rows by 2 vectors. The factors of a are stored by columns. A step of k therefore loads 12 of them
// and 2 vectors of b in two instructions and multiplies each vector by each factor in place, without broadcasts. If a
// is stored by rows, the callers transpose it while they pack it.
func neonProducts(out map[string]string) {
	g := &gen{isa: neon, stubs: newStubs(neon)}
	g.line(header(neon) + "#include \"textflag.h\"")
	g.neonCols()
	g.neonRow()
	g.neonDots()
	g.neonCopyStrip()
	g.neonTranspose()
	g.neonPacked()
	g.neonPeak()
	out["gemm/gemm_neon_arm64.s"] = g.text.String()
	out["gemm/gemm_stubs_arm64.go"] = g.stubs.String()
}

func (g *gen) word(text string) { g.text.WriteString(text) }

// neonCols writes cols. Its registers: R0 c, R1 ldc, R2 a, R3 lda, R4 b, R5 ldb, R6 d, R7 ldd, R8 k, R9 m, R10 number
// of lanes in the last vector, R11 … R13 offsets of its lanes 1 … 3, in bytes; R14 and R15 run through a and b, R19 …
// R21 scratch.
func (g *gen) neonCols() {
	args := []arg{
		{"c", "R0"}, {"ldc", "R1"}, {"a", "R2"}, {"lda", "R3"}, {"b", "R4"}, {"ldb", "R5"}, {"d", "R6"}, {"ldd", "R7"},
		{"k", "R8"}, {"m", "R9"}, {"n", "R10"}, {"alpha", ""},
	}
	doc := "d + alpha·a·b → c for m rows and n ≤ 2 vectors of columns: " +
		"the columns of a lie lda apart, the rows of b's strip ldb."
	g.function("cols", doc, args, func() {
		for _, r := range []int{1, 3, 5, 7} {
			g.op("LSL $2, R%d", r)
		}
		g.op("CMP $%d, R10", g.lanes)
		g.op("BLE v1")
		g.op("SUB $%d, R10", g.lanes)
		for vectors := 2; vectors > 0; vectors-- {
			g.line("v%d:", vectors)
			g.word(lanePlaces(10, 10, 20))
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

func (g *gen) neonTile(label string, t tile) {
	for i := g.sum(t, 0, 0); i < g.count; i++ {
		g.word(instruction("eor", i, i, i))
	}
	if t.height > 1 { // prefetch the rows of c in which the tile ends
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

// neonStep adds the products of one k. Registers 0 … 2 hold a's column, the next ones b's row.
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

// vectorList returns n registers in the assembler's notation for lists.
func vectorList(first, n int) string {
	text := ""
	for i := range n {
		text += fmt.Sprintf(", V%d.S4", first+i)
	}
	return text[2:]
}
