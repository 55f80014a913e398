package main

import "fmt"

// roundBlocks writes the rounding of a vector to blocks of whole numbers. A NaN or an infinity in a block makes its
// scale NaN.
func (g *gen) roundBlocks() {
	args := loaded("x scale offset a k apart", "DI", "SI", "BX", "R8", "CX", "R10")
	g.function("round", roundDoc, args, func() {
		g.quantSet("1", "Y15")
		g.quantSet("ones", "Y14")
		g.quantSet("size", "Y13")
		g.op("VMOVDQU quant%s<>+%d(SB), Y12", g.name, quantConstant["order"])
		g.op("SHLQ $2, R10")
		g.repeat("CX", func() {
			for v := range 4 {
				g.op("VMOVUPS %d(R8), Y%d", 32*v, v)
				g.op("VANDPS Y13, Y%d, Y%d", v, 4+v)
				g.op("VSUBPS Y%d, Y%[1]d, Y%d", v, 8+v)
			}
			for _, join := range []struct {
				op    string
				first int
			}{{"VMAXPS", 4}, {"VORPS", 8}} {
				a := join.first
				g.op("%s Y%d, Y%d, Y%[3]d", join.op, a+1, a)
				g.op("%s Y%d, Y%d, Y%[3]d", join.op, a+3, a+2)
				g.op("%s Y%d, Y%d, Y%[3]d", join.op, a+2, a)
				g.op("VEXTRACTF128 $1, Y%d, X%d", a, a+1)
				g.op("%s X%d, X%d, X%[3]d", join.op, a+1, a)
				g.op("VMOVHLPS X%d, X%[1]d, X%d", a, a+1)
				g.op("%s X%d, X%d, X%[3]d", join.op, a+1, a)
				g.op("VMOVSHDUP X%d, X%d", a, a+1)
				g.op("%s X%d, X%d, X%[3]d", join.op, a+1, a)
			}
			g.op("VMOVSS quant%s<>+%d(SB), X5", g.name, quantConstant["127"])
			g.op("VMOVSS quant%s<>+%d(SB), X6", g.name, quantConstant["∞"])
			g.op("VDIVSS X4, X5, X7")
			g.op("VDIVSS X5, X4, X4")
			g.op("VCMPSS $1, X6, X7, X6") // 127 / the largest is below ∞
			g.op("VANDPS X6, X7, X7")
			g.op("VANDPS X6, X4, X4")
			g.op("VORPS X8, X4, X4")
			g.op("VMOVSS X4, (SI)")
			g.op("VBROADCASTSS X7, Y7")
			for v := range 4 {
				g.op("VMULPS Y7, Y%d, Y%[1]d", v)
				g.op("VCVTPS2DQ Y%d, Y%[1]d", v)
			}
			g.op("VPACKSSDW Y1, Y0, Y0")
			g.op("VPACKSSDW Y3, Y2, Y2")
			g.op("VPACKSSWB Y2, Y0, Y0")
			g.op("VPERMD Y0, Y12, Y0")
			g.op("VMOVDQU Y0, (DI)")
			g.op("VPMADDUBSW Y0, Y14, Y0")
			g.op("VPMADDWD Y15, Y0, Y0")
			g.op("VEXTRACTI128 $1, Y0, X1")
			g.op("VPADDD X1, X0, X0")
			for _, order := range []int{0x4e, 0xb1} {
				g.op("VPSHUFD $%#x, X0, X1", order)
				g.op("VPADDD X1, X0, X0")
			}
			g.op("VPSLLD $3, X0, X0")
			g.op("VPXOR X1, X1, X1")
			g.op("VPSUBD X0, X1, X0")
			g.op("VMOVD X0, (BX)")
			g.op("ADDQ $128, R8")
			g.op("LEAQ (DI)(R10*8), DI")
			g.op("ADDQ R10, SI")
			g.op("ADDQ R10, BX")
		})
	})
}

// floatDoc returns the name, the comment and the arguments of a product of rows of numbers of the given size with one
// vector or with four; the registers hold the arguments in their order.
func floatDoc(size, rows, vectors int, registers ...string) (name, doc string, args []arg) {
	kind, what := "F32", "float32"
	if size == 2 {
		kind, what = "BF16", "bfloat16"
	}
	if vectors == 1 {
		doc = fmt.Sprintf("y[i] = Σ of 8·k numbers of row i with a, for n times %d rows of %s, stride bytes apart.",
			rows, what)
		return "rows" + kind, doc, loaded("y w a k n stride", registers...)
	}
	doc = fmt.Sprintf("y[v·apart + i] = Σ of 8·k numbers of row i with vector v of four, lda numbers apart, for n "+
		"times %d rows of %s, stride bytes apart.", rows, what)
	return "fours" + kind, doc, loaded("y w a k n stride lda apart", registers...)
}

// longRow is the least number of bytes of a row for which the kernel of one vector does not prefetch. The processor
// itself prefetches the streams of long rows, and eight more of them would displace the operands from the first cache.
const longRow = 3072

// floatRows writes the product of rows of numbers of the given size with vectors of float32. The sum of a row and a
// vector is in one register: number i is added to lane i mod 8.
func (g *gen) floatRows(size, rows, vectors int) {
	name, doc, args := floatDoc(size, rows, vectors, "DI", "SI", "BX", "CX", "DX", "R10", "R9", "AX")
	sum := func(r, v int) int { return r*vectors + v }
	g.function(name, doc, args, func() {
		g.op("LEAQ (R10)(R10*2), R11")
		if vectors > 1 {
			g.inBytes("R9", "AX")
			g.op("LEAQ (R9)(R9*2), R13")
		}
		g.op("TESTQ DX, DX")
		g.op("JLE done")
		g.line("rows:")
		if vectors == 1 {
			g.eightRows()
		} else {
			g.op("MOVQ SI, R12")
		}
		g.op("MOVQ BX, R15")
		for i := range rows * vectors {
			g.zero(g.reg(i))
		}
		g.op("MOVQ CX, R8")
		g.op("TESTQ R8, R8")
		g.op("JLE sum")
		g.line("block:")
		for r := range rows {
			at, to := row(r, 0), g.reg(8+r%4)
			if size == 4 {
				g.op("VMOVUPS %s, %s", at, to)
			} else {
				g.op("VPMOVZXWD %s, %s", at, to)
				g.op("VPSLLD $16, %s, %[1]s", to)
			}
			for v := range vectors {
				x := g.reg(12 + v)
				if r == 0 {
					g.op("VMOVUPS (R15)%s, %s", []string{"", "(R9*1)", "(R9*2)", "(R13*1)"}[v], x)
				}
				g.op("VFMADD231PS %s, %s, %s", x, to, g.reg(sum(r, v)))
			}
		}
		if vectors == 1 {
			g.op("CMPQ R10, $%d", longRow)
			g.op("JGE long")
			g.prefetchRows(8 * size)
			g.line("long:")
			g.op("ADDQ $%d, R12", 8*size)
			g.op("ADDQ $%d, R13", 8*size)
		} else {
			g.op("ADDQ $%d, R12", 8*size)
		}
		g.op("ADDQ $32, R15")
		g.op("DECQ R8")
		g.op("JGT block")
		g.line("sum:")
		g.op("MOVQ DI, R8")
		for v := range vectors {
			for r := range rows {
				i := sum(r, v)
				g.op("VEXTRACTF128 $1, Y%d, X8", i)
				g.op("VADDPS X8, X%d, X%[1]d", i)
				g.op("VMOVHLPS X%d, X%[1]d, X8", i)
				g.op("VADDPS X8, X%d, X%[1]d", i)
				g.op("VMOVSHDUP X%d, X8", i)
				g.op("VADDSS X8, X%d, X%[1]d", i)
				g.op("VMOVSS X%d, %d(R8)", i, 4*r)
			}
			if v+1 < vectors {
				g.op("ADDQ AX, R8")
			}
		}
		g.op("ADDQ $%d, DI", 4*rows)
		g.op("LEAQ (SI)(R10*%d), SI", rows)
		g.op("DECQ DX")
		g.op("JGT rows")
		g.line("done:")
	})
}
