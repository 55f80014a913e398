package main

import (
	"fmt"
	"strings"
)

// quantTiles writes the products of many vectors with AVX-512. They compute the bits of the narrower kernels: a number
// has the same lane of a sum, sums of lanes are added in the same order, and whole numbers are exact in any.
func quantTiles(out map[string]string, stubs *strings.Builder) {
	g := &gen{isa: avx512, stubs: stubs}
	g.line(header(avx512) + "#include \"textflag.h\"")
	for i, place := range []int{0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15} {
		g.line("DATA order%s<>+%d(SB)/4, $%d", g.name, 4*i, place)
	}
	g.line("GLOBL order%s<>(SB), RODATA|NOPTR, $64", g.name)
	g.eights()
	g.widen()
	g.floatTile()
	for _, b := range blockeds {
		g.wideFours(b)
	}
	out["quant/quant_avx512_amd64.s"] = g.text.String()
}

// The height and the width of a tile of floats: rows of the matrix, and vectors.
const tileRows, tileVectors = 6, 8

// eights writes the copy of a vector for a tile.
func (g *gen) eights() {
	doc := "dst[i·apart …] = numbers 8i … 8i+7 of a vector, for i < k."
	g.function("eights", doc, loaded("dst src k apart", "DI", "SI", "CX", "DX"), func() {
		g.inBytes("DX")
		g.repeat("CX", func() {
			g.op("VMOVUPS (SI), Y0")
			g.op("VMOVUPS Y0, (DI)")
			g.op("ADDQ $32, SI")
			g.op("ADDQ DX, DI")
		})
	})
}

// widen writes the conversion of a row of bfloat16 for a tile.
func (g *gen) widen() {
	g.function("widen", "panel = 8·k numbers of bfloat16 as float32.", loaded("panel w k", "DI", "SI", "CX"), func() {
		step := func(bytes int) {
			to := map[int]string{32: "Y0", 64: "Z0"}[bytes]
			g.op("VPMOVZXWD (SI), %s", to)
			g.op("VPSLLD $16, %s, %[1]s", to)
			g.op("VMOVUPS %s, (DI)", to)
		}
		g.op("SUBQ $2, CX")
		g.op("JLT one")
		g.line("two:")
		step(64)
		g.op("ADDQ $32, SI")
		g.op("ADDQ $64, DI")
		g.op("SUBQ $2, CX")
		g.op("JGE two")
		g.line("one:")
		g.op("ADDQ $2, CX")
		g.op("JLE done")
		step(32)
		g.line("done:")
	})
}

// floatTile writes the product of a tile. A register holds eight lanes of a sum for each of two vectors.
func (g *gen) floatTile() {
	const pairs = tileVectors / 2
	acc := func(r, p int) string { return g.reg(8 + r*pairs + p) }
	doc := fmt.Sprintf("y[v·apart + i] = d[i] + Σ of 8·k numbers of row i with vector v of %d, for n ≤ %d rows. All "+
		"%[2]d rows, stride bytes apart, and eight numbers of d are read. Eight numbers of each vector are in turn in "+
		"a.",
		tileVectors, tileRows)
	args := append(loaded("y w a d k stride", "DI", "SI", "BX", "R8", "DX", "R11"), arg{"n", "CX"}, arg{"apart", "R10"})
	g.function("tile", doc, args, func() {
		g.maskRegister()
		g.inBytes("R10")
		g.op("LEAQ (R11)(R11*2), R12")
		g.op("LEAQ (SI)(R12*1), R13")
		for r := range tileRows {
			for p := range pairs {
				g.zero(acc(r, p))
			}
		}
		step := func(at int) {
			for p := range pairs {
				g.op("VMOVUPS %d(BX), %s", at*32*tileVectors+64*p, g.reg(p))
			}
			for r := range tileRows {
				w := g.reg(4 + r%4)
				row := []string{"(SI)", "(SI)(R11*1)", "(SI)(R11*2)", "(R13)", "(R13)(R11*1)", "(R13)(R11*2)"}[r]
				g.op("VBROADCASTF64X4 %d%s, %s", 32*at, row, w)
				for p := range pairs {
					g.op("VFMADD231PS %s, %s, %s", g.reg(p), w, acc(r, p))
				}
			}
		}
		g.op("SUBQ $2, DX")
		g.op("JLT one")
		g.line("two:")
		step(0)
		step(1)
		g.op("ADDQ $64, SI")
		g.op("ADDQ $64, R13")
		g.op("ADDQ $%d, BX", 64*tileVectors)
		g.op("SUBQ $2, DX")
		g.op("JGE two")
		g.line("one:")
		g.op("ADDQ $2, DX")
		g.op("JLE sum")
		step(0)
		g.line("sum:")
		g.op("VMOVUPS order%s<>(SB), Z7", g.name)
		g.op("VBROADCASTF64X4 (R8), Z6")
		for p := range pairs {
			g.foldTile(func(r int) string { return acc(r, p) })
			for half := range 2 {
				if half == 1 {
					g.op("VEXTRACTF64X4 $1, Z0, Y0")
				}
				g.op("VMOVUPS Z0, %s, (DI)", g.mask)
				g.op("ADDQ R10, DI")
			}
		}
	})
}

// foldTile sets Z0 to the sums of the lanes of six rows for two vectors, in the order of floatRows, plus Z6. Z7 holds
// the order of the sums.
func (g *gen) foldTile(acc func(row int) string) {
	add := func(a, b, to int, low, high string) {
		g.op(low, b, a, to)
		g.op(high, b, a, to+1)
		g.op("VADDPS Z%d, Z%d, Z%[2]d", to+1, to)
	}
	for r := 0; r < tileRows; r += 2 {
		g.op("VSHUFF32X4 $0x88, %s, %s, Z%d", acc(r+1), acc(r), r)
		g.op("VSHUFF32X4 $0xdd, %s, %s, Z5", acc(r+1), acc(r))
		g.op("VADDPS Z5, Z%d, Z%[1]d", r)
	}
	const low, high = "VUNPCKLPD Z%d, Z%d, Z%d", "VUNPCKHPD Z%d, Z%d, Z%d"
	g.op(high, 2, 0, 1)
	g.op(low, 2, 0, 0)
	g.op("VADDPS Z1, Z0, Z0")
	g.op(high, 4, 4, 5)
	g.op("VADDPS Z5, Z4, Z4")
	add(0, 4, 2, "VSHUFPS $0x88, Z%d, Z%d, Z%d", "VSHUFPS $0xdd, Z%d, Z%d, Z%d")
	g.op("VPERMPS Z2, Z7, Z0")
	g.op("VADDPS Z6, Z0, Z0")
}

// wideBlock is the number of bytes of a block in a panel of 16 rows.
const wideBlock = 2 * panelBlock

// wideFours writes the product of a panel of 16 rows with four vectors of blocks. Two registers hold the sum of a
// vector's block, so that an addition need not wait for the one before.
func (g *gen) wideFours(b blocked) {
	doc := fmt.Sprintf("y[v·apart + i] = d[i] + Σ of k blocks of row i of a panel of 16 rows of %s with vector v of "+
		"four, whose blocks take turns in x, scale and offset.", b.name)
	args := loaded("y panel x scale offset d k apart", "DI", "SI", "BX", "R8", "R9", "R10", "CX", "DX")
	g.function("wideFours"+b.name, doc, args, func() {
		for v := range 4 {
			g.zero(g.reg(v))
		}
		g.repeat("CX", func() {
			for v := range 4 {
				g.op("VPBROADCASTD %d(R9), %s", 4*v, g.reg(4+v))
				if b.name == "Q8" { // −128·Σx
					g.op("VPSLLD $4, %s, %[1]s", g.reg(4+v))
				}
				g.op("VPXORD %s, %[1]s, %[1]s", g.reg(8+v))
			}
			for t := range 8 {
				w := g.reg(12 + t%4)
				g.op("VMOVDQU32 %d(SI), %s", 64+64*t, w)
				for v := range 4 {
					g.op("VPDPBUSD.BCST %d(BX), %s, %s", 32*v+4*t, w, g.reg(4+4*(t%2)+v))
				}
			}
			g.op("VMOVUPS (SI), Z16")
			for v := range 4 {
				g.op("VPADDD %s, %s, %[2]s", g.reg(8+v), g.reg(4+v))
				g.op("VCVTDQ2PS %s, %[1]s", g.reg(4+v))
				g.op("VMULPS.BCST %d(R8), Z16, %s", 4*v, g.reg(8+v))
				g.op("VFMADD231PS %s, %s, %s", g.reg(4+v), g.reg(8+v), g.reg(v))
			}
			g.op("ADDQ $%d, SI", wideBlock)
			g.op("ADDQ $128, BX")
			g.op("ADDQ $16, R8")
			g.op("ADDQ $16, R9")
		})
		g.op("VMOVUPS (R10), Z16")
		for v := range 4 {
			g.op("VADDPS Z16, %s, %[1]s", g.reg(v))
			g.op("VMOVUPS %s, (DI)", g.reg(v))
			g.op("LEAQ (DI)(DX*4), DI")
		}
	})
}
