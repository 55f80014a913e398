package main

import "strings"

// neonQuants is quants for NEON. The dot products of whole numbers are an extension of it, which most processors since
// 2018 have.
func neonQuants(out map[string]string) {
	var stubs strings.Builder
	stubs.WriteString(header(neon) + "package quant\n")
	g := &gen{isa: neon, stubs: &stubs}
	g.line(header(neon) + "#include \"textflag.h\"")
	for _, vectors := range []int{1, 4} {
		g.neonQuantRows("Q8", "32 whole numbers of 8 bits", vectors, func() {
			g.op("VLD1.P 32(R1), [V4.B16, V5.B16]")
		})
		g.neonQuantRows("Q4", "32 whole numbers of 4 bits from −8 on", vectors, func() {
			g.op("VLD1.P 16(R1), [V4.B16]")
			g.op("VUSHR $4, V4.B16, V5.B16")
			g.op("VAND V16.B16, V4.B16, V4.B16")
			g.op("VSUB V17.B16, V4.B16, V4.B16")
			g.op("VSUB V17.B16, V5.B16, V5.B16")
		})
	}
	g.neonFloatRows("rowsF32", "float32", 4)
	g.neonFloatRows("rowsBF16", "bfloat16", 2)
	out["quant/quant_neon_arm64.s"] = g.text.String()
	out["quant/quant_stubs_arm64.go"] = stubs.String()
}

func (g *gen) neonQuantRows(name, what string, vectors int, unpack func()) {
	name, doc, args := quantDoc(name, what, vectors, "R0", "R1", "R2", "R3", "R4", "R5", "R10")
	g.function(name, doc, args, func() {
		g.op("VMOVI $15, V16.B16")
		g.op("VMOVI $8, V17.B16")
		sums := []int{0, 24, 25, 26}[:vectors]
		g.neonEachRow(sums, func() {
			g.op("MOVD R2, R6")
			g.op("MOVD R3, R7")
			for _, sum := range sums {
				g.word(instruction("eor", sum, sum, sum))
			}
		}, func() {
			g.op("MOVHU.P 2(R1), R9")
			g.op("FMOVS R9, F2")
			g.op("FCVTHS F2, F2")
			unpack()
			for _, sum := range sums {
				g.op("FMOVS.P 4(R7), F3")
				g.op("FMULS F3, F2, F3")
				g.op("VLD1.P 32(R6), [V6.B16, V7.B16]")
				g.word(instruction("eor", 1, 1, 1))
				g.word(instruction("sdot", 1, 4, 6))
				g.word(instruction("sdot", 1, 5, 7))
				g.word(instruction("scvtf", 1, 1))
				g.word(byElement(sum, 1, 3, 0))
			}
		})
	})
}

func (g *gen) neonFloatRows(name, what string, size int) {
	args := []arg{{"y", "R0"}, {"w", "R1"}, {"a", "R2"}, {"k", "R4"}, {"n", "R5"}, {"rest", "R3"}}
	doc := "y[i] = Σ of 32·k numbers of row i, for n rows of " + what + " that are rest bytes longer."
	g.function(name, doc, args, func() {
		g.neonEachRow([]int{0}, func() {
			g.op("MOVD R2, R6")
			for v := range 4 {
				g.word(instruction("eor", v, v, v))
			}
		}, func() {
			for half := range 2 {
				if size == 4 {
					g.op("VLD1.P 64(R1), [%s]", vectorList(16, 4))
				} else {
					g.op("VLD1.P 32(R1), [V20.H8, V21.H8]")
					for v := range 4 {
						g.word(instruction([]string{"shll", "shll2"}[v%2], 16+v, 20+v/2))
					}
				}
				_ = half
				g.op("VLD1.P 64(R6), [%s]", vectorList(24, 4))
				for v := range 4 {
					g.word(instruction("fmla", v, 16+v, 24+v))
				}
			}
		}, func() {
			g.word(instruction("fadd", 0, 0, 1))
			g.word(instruction("fadd", 2, 2, 3))
			g.word(instruction("fadd", 0, 0, 2))
			g.op("ADD R3, R1")
		})
	})
}

// neonEachRow is eachRow for NEON: R5 rows of R4 blocks, whose sums are stored R10 numbers apart; R8 counts the blocks.
func (g *gen) neonEachRow(sums []int, begin, block func(), end ...func()) {
	if len(sums) > 1 {
		g.op("LSL $2, R10")
	}
	g.op("CMP $0, R5")
	g.op("BLE done")
	g.line("row:")
	begin()
	g.op("MOVD R4, R8")
	g.op("CBZ R8, sum")
	g.line("block:")
	block()
	g.op("SUBS $1, R8")
	g.op("BNE block")
	g.line("sum:")
	for _, f := range end {
		f()
	}
	if len(sums) > 1 {
		g.op("MOVD R0, R6")
	}
	for i, sum := range sums {
		g.word(instruction("faddp", sum, sum, sum))
		g.word(instruction("faddp", sum, sum, sum))
		if i > 0 {
			g.op("FMOVS F%d, (R6)", sum)
		} else {
			g.op("FMOVS.P F%d, 4(R0)", sum)
		}
		if i+1 < len(sums) {
			g.op("ADD R10, R6")
		}
	}
	g.op("SUBS $1, R5")
	g.op("BNE row")
	g.line("done:")
}
