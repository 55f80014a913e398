package main

import (
	"fmt"
	"strings"
)

// neonQuants is quants for NEON. The dot products of whole numbers are an extension of it, which most processors since
// 2018 have. They multiply signed numbers, so that no offset is needed.
func neonQuants(out map[string]string) {
	var stubs strings.Builder
	stubs.WriteString(header(neon) + "package quant\n")
	g := &gen{isa: neon, stubs: &stubs}
	g.line(header(neon) + "#include \"textflag.h\"")
	for _, b := range blockeds {
		g.neonQuantRows(b)
		g.neonQuantPanel(b)
		g.neonQuantFours(b)
	}
	g.neonRoundBlocks()
	for _, size := range []int{4, 2} {
		g.neonFloatRows(size, 8, 1)
		g.neonFloatRows(size, 2, 4)
	}
	out["quant/quant_neon_arm64.s"] = g.text.String()
	out["quant/quant_stubs_arm64.go"] = stubs.String()
}

// neonRow is the register that points to row i of eight in the loops over blocks.
func neonRow(i int) string { return fmt.Sprint("R", 8+i) }

// neonRows sets the registers of the rows: the first is at R1, the others R7 bytes apart.
func (g *gen) neonRows(count int) {
	g.op("MOVD R1, %s", neonRow(0))
	for i := 1; i < count; i++ {
		g.op("ADD R7, %s, %s", neonRow(i-1), neonRow(i))
	}
}

// neonLoop is repeat for NEON with a label, so that loops can be nested.
func (g *gen) neonLoop(register, label string, body func()) {
	g.op("CMP $0, %s", register)
	g.op("BLE %sdone", label)
	g.line("%s:", label)
	body()
	g.op("SUBS $1, %s", register)
	g.op("BNE %s", label)
	g.line("%sdone:", label)
}

// neonScales loads the scales of eight rows into V2 and V3, and moves to the numbers after them.
func (g *gen) neonScales() {
	for i := range 8 {
		g.op("MOVHU.P 2(%s), R22", neonRow(i))
		g.op("VMOV R22, V2.H[%d]", i)
	}
	g.word(instruction("fcvtl2 4s", 3, 2))
	g.word(instruction("fcvtl 4s", 2, 2))
}

// neonBlock loads the numbers of a row's block into V4 and V5.
func (g *gen) neonBlock(b blocked, i int) {
	if b.name == "Q8" {
		g.op("VLD1.P 32(%s), [V4.B16, V5.B16]", neonRow(i))
		return
	}
	g.op("VLD1.P 16(%s), [V4.B16]", neonRow(i))
	g.op("VUSHR $4, V4.B16, V5.B16")
	g.op("VAND V0.B16, V4.B16, V4.B16")
	g.op("VSUB V1.B16, V4.B16, V4.B16")
	g.op("VSUB V1.B16, V5.B16, V5.B16")
}

func (g *gen) neonNumberConstants() {
	g.op("VMOVI $15, V0.B16")
	g.op("VMOVI $8, V1.B16")
}

func (g *gen) neonZero(registers ...int) {
	for _, r := range registers {
		g.word(instruction("eor", r, r, r))
	}
}

func (g *gen) neonQuantRows(b blocked) {
	args := loaded("y w x scale offset k n stride", "R0", "R1", "R2", "R3", "", "R5", "R6", "R7")
	g.function("rows"+b.name, b.rowsDoc(), args, func() {
		g.neonNumberConstants()
		g.neonLoop("R6", "rows", func() {
			g.neonRows(8)
			g.op("MOVD R2, R20")
			g.op("MOVD R3, R21")
			g.op("MOVD R5, R19")
			g.neonZero(24, 25)
			g.neonLoop("R19", "block", func() {
				g.op("VLD1.P 32(R20), [V6.B16, V7.B16]")
				g.op("FMOVS.P 4(R21), F28")
				g.neonScales()
				for i := range 8 {
					g.neonBlock(b, i)
					g.neonZero(16 + i)
					g.word(instruction("sdot", 16+i, 4, 6))
					g.word(instruction("sdot", 16+i, 5, 7))
				}
				for half := range 2 {
					first := 16 + 4*half
					g.word(instruction("addp", first, first, first+1))
					g.word(instruction("addp", first+2, first+2, first+3))
					g.word(instruction("addp", first, first, first+2))
					g.neonScaled(24+half, first, 2+half)
				}
			})
			g.op("VST1.P [V24.S4, V25.S4], 32(R0)")
			g.op("ADD R7<<3, R1, R1")
		})
	})
}

// neonScaled adds whole numbers times both scales, a register and F28, to a sum.
func (g *gen) neonScaled(sum, whole, scale int) {
	g.word(byElementProduct(29, scale, 28))
	g.word(instruction("scvtf", whole, whole))
	g.word(instruction("fmla", sum, whole, 29))
}

func (g *gen) neonQuantPanel(b blocked) {
	args := loaded("panel w k stride", "R0", "R1", "R5", "R7")
	g.function("panel"+b.name, b.panelDoc(1), args, func() {
		g.neonNumberConstants()
		g.neonRows(8)
		g.neonLoop("R5", "block", func() {
			g.neonScales()
			g.op("VST1.P [V2.S4, V3.S4], 32(R0)")
			for half := range 2 { // of the rows
				for i := range 4 {
					g.neonBlock(b, 4*half+i)
					g.word(instruction("orr", 16+i, 4, 4))
					g.word(instruction("orr", 20+i, 5, 5))
				}
				for numbers := range 2 {
					first := 16 + 4*numbers
					for i := range 2 {
						name := fmt.Sprintf("trn%d", 1+i)
						g.word(instruction(name, 4+i, first, first+1))
						g.word(instruction(name, 6+i, first+2, first+3))
					}
					for t := range 4 {
						g.word(instruction(fmt.Sprintf("trn%d 2d", 1+t/2), 24, 4+t%2, 6+t%2))
						g.op("FMOVQ F24, %d(R0)", 128*numbers+32*t+16*half)
					}
				}
			}
			g.op("ADD $256, R0")
		})
	})
}

func (g *gen) neonQuantFours(b blocked) {
	args := loaded("y panel x scale offset k apart", "R0", "R1", "R2", "R3", "", "R5", "R6")
	g.function("fours"+b.name, b.foursDoc(), args, func() {
		g.neonZero(16, 17, 18, 19, 20, 21, 22, 23)
		g.neonLoop("R5", "block", func() {
			g.op("VLD1.P 32(R1), [V2.S4, V3.S4]")
			g.op("VLD1.P 64(R2), [%s]", vectorList(4, 4))
			g.op("VLD1.P 64(R2), [%s]", vectorList(8, 4))
			for v := range 4 {
				g.neonZero(24+2*v, 25+2*v)
			}
			for t := range 8 {
				g.op("VLD1.P 32(R1), [V0.B16, V1.B16]")
				for v := range 4 {
					for half := range 2 {
						g.word(sdotByElement(24+2*v+half, half, 4+2*v+t/4, t%4))
					}
				}
			}
			for v := range 4 {
				g.op("FMOVS.P 4(R3), F12")
				for half := range 2 {
					g.word(byElementProduct(13, 2+half, 12))
					g.word(instruction("scvtf", 24+2*v+half, 24+2*v+half))
					g.word(instruction("fmla", 16+2*v+half, 24+2*v+half, 13))
				}
			}
		})
		g.op("LSL $2, R6")
		for v := range 4 {
			g.op("VST1 [V%d.S4, V%d.S4], (R0)", 16+2*v, 17+2*v)
			g.op("ADD R6, R0")
		}
	})
}

func (g *gen) neonRoundBlocks() {
	args := loaded("x scale offset a k apart", "R0", "R1", "", "R3", "R5", "R6")
	g.function("round", roundDoc, args, func() {
		g.op("MOVD $0x42fe0000, R8")
		g.op("FMOVS R8, F25") // 127
		g.op("MOVD $0x7f800000, R8")
		g.op("FMOVS R8, F26") // ∞
		g.op("LSL $2, R6")
		g.neonLoop("R5", "block", func() {
			g.op("VLD1.P 64(R3), [%s]", vectorList(0, 4))
			g.op("VLD1.P 64(R3), [%s]", vectorList(4, 4))
			for v := range 8 {
				g.word(instruction("fabs", 16+v, v))
			}
			for n := 4; n > 0; n /= 2 {
				for v := range n {
					g.word(instruction("fmax", 16+v, 16+v, 16+v+n))
				}
			}
			g.word(instruction("fmaxv", 16, 16)) // NaN if a number is
			g.op("FDIVS F16, F25, F17")
			g.op("FDIVS F25, F16, F18")
			g.word(instruction("fcmgt", 19, 26, 17)) // 127 / the largest is below ∞
			g.word(instruction("and", 17, 17, 19))
			g.word(instruction("and", 18, 18, 19))
			g.word(instruction("fsub", 16, 16, 16))
			g.word(instruction("orr", 18, 18, 16))
			g.op("FMOVS F18, (R1)")
			for v := range 8 {
				g.word(byElementProduct(v, v, 17))
				g.word(instruction("fcvtns", v, v))
			}
			for v := range 4 {
				g.word(instruction("sqxtn 4h", 16+v, 2*v))
				g.word(instruction("sqxtn2 8h", 16+v, 2*v+1))
			}
			for v := range 2 {
				g.word(instruction("sqxtn 8b", v, 16+2*v))
				g.word(instruction("sqxtn2 16b", v, 17+2*v))
			}
			g.op("VST1 [V0.B16, V1.B16], (R0)")
			g.op("ADD R6<<3, R0, R0")
			g.op("ADD R6, R1")
		})
	})
}

// neonFloatRows is floatRows for NEON. Sum i is in V2i and V2i+1.
func (g *gen) neonFloatRows(size, rows, vectors int) {
	name, doc, args := floatDoc(size, rows, vectors, "R0", "R1", "R2", "R5", "R6", "R7", "R3", "R4")
	const w, x = 16, 24
	g.function(name, doc, args, func() {
		if vectors > 1 {
			g.op("LSL $2, R3")
			g.op("LSL $2, R4")
		}
		g.neonLoop("R6", "rows", func() {
			g.neonRows(rows)
			g.op("MOVD R2, R19")
			for v := 1; v < vectors; v++ {
				g.op("ADD R3, R%d, R%d", 18+v, 19+v)
			}
			for i := range 2 * rows * vectors {
				g.neonZero(i)
			}
			g.op("MOVD R5, R23")
			g.neonLoop("R23", "block", func() {
				for r := range rows {
					to := w + 2*(r%4)
					if size == 4 {
						g.op("VLD1.P 32(%s), [%s]", neonRow(r), vectorList(to, 2))
					} else {
						g.op("VLD1.P 16(%s), [V%d.H8]", neonRow(r), to+1)
						g.word(instruction("shll", to, to+1))
						g.word(instruction("shll2", to+1, to+1))
					}
					for v := range vectors {
						if r == 0 {
							g.op("VLD1.P 32(R%d), [%s]", 19+v, vectorList(x+2*v, 2))
						}
						for half := range 2 {
							g.word(instruction("fmla", 2*(r*vectors+v)+half, to+half, x+2*v+half))
						}
					}
				}
			})
			g.op("MOVD R0, R23")
			for v := range vectors {
				for r := range rows {
					i := 2 * (r*vectors + v)
					g.word(instruction("fadd", i, i, i+1))
					g.word(instruction("trn2 2d", i+1, i, i))
					g.word(instruction("fadd", i, i, i+1))
					g.word(instruction("faddp", i, i, i))
					g.op("FMOVS F%d, %d(R23)", i, 4*r)
				}
				if v+1 < vectors {
					g.op("ADD R4, R23")
				}
			}
			g.op("ADD $%d, R0", 4*rows)
			g.op("ADD R7<<%d, R1, R1", map[int]int{2: 1, 8: 3}[rows])
		})
	})
}
