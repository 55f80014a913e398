package main

import "strings"

// vnni is AVX2 with the dot products of AVX-512 VNNI on registers of the same width.
var vnni = isa{"VNNI", "amd64", "MOVQ", "Y", 8, 32, nil, ""}

// quants returns the files of the products with matrices stored by rows in blocks, by name.
//
// A kernel multiplies some rows by one vector x. For blocks of whole numbers, x is in blocks of 32 whole numbers with a
// scale too: a block of a row adds the whole number Σ n·x times both scales to the row's sum. Another kernel multiplies
// by four vectors, and unpacks a block once for all of them; its sums have the bits of the first.
func quants(out map[string]string) {
	var stubs strings.Builder
	stubs.WriteString(header(avx2) + "package quant\n")
	for _, s := range []isa{avx2, vnni} {
		g := &gen{isa: s, stubs: &stubs}
		g.line(header(s) + "#include \"textflag.h\"")
		for i, bits := range []int{0x00010001, 0x0f0f0f0f, 0x08080808} {
			for word := range 4 {
				g.line("DATA quant%s<>+%d(SB)/4, $%#08x", g.name, 16*i+4*word, bits)
			}
		}
		g.line("GLOBL quant%s<>(SB), RODATA|NOPTR, $48", g.name)
		for _, vectors := range []int{1, 4} {
			g.quantRows("Q8", "32 whole numbers of 8 bits", 34, vectors, func() { g.op("VMOVDQU 2(SI), Y4") })
			g.quantRows("Q4", "32 whole numbers of 4 bits from −8 on", 18, vectors, func() {
				g.op("VMOVDQU 2(SI), X4")
				g.op("VPSRLW $4, X4, X5")
				g.op("VINSERTI128 $1, X5, Y4, Y4")
				g.op("VPAND Y14, Y4, Y4")
				g.op("VPSUBB Y13, Y4, Y4")
			})
		}
		if s.name == avx2.name {
			g.floatRows("rowsF32", "float32", 4)
			g.floatRows("rowsBF16", "bfloat16", 2)
		}
		out["quant/quant_"+strings.ToLower(s.name)+"_amd64.s"] = g.text.String()
	}
	out["quant/quant_stubs_amd64.go"] = stubs.String()
	neonQuants(out)
}

// quantDoc returns the comment and the arguments of the product of rows with one vector or with four, whose blocks take
// turns; the registers are those of the arguments in their order.
func quantDoc(name, what string, vectors int, registers ...string) (function, doc string, args []arg) {
	for i, name := range []string{"y", "w", "x", "scale", "k", "n"} {
		args = append(args, arg{name, registers[i]})
	}
	if vectors == 1 {
		doc = "y[i] = Σ of k blocks of row i, for n rows of blocks of a binary16 scale and " + what + "."
		return "rows" + name, doc, args
	}
	doc = "y[v·apart + i] = Σ of k blocks of row i with vector v of four, whose blocks take turns in x."
	return "fours" + name, doc, append(args, arg{"apart", registers[len(args)]})
}

// quantRows writes the product of rows of blocks with vectors of blocks. unpack loads the whole numbers of a block at
// SI into Y4. Since the instructions multiply numbers without a sign by signed ones, x takes the signs of the row's.
func (g *gen) quantRows(name, what string, size, vectors int, unpack func()) {
	name, doc, args := quantDoc(name, what, vectors, "DI", "SI", "BX", "R8", "CX", "DX", "AX")
	g.function(name, doc, args, func() {
		for i, register := range []string{"Y15", "Y14", "Y13"} {
			g.op("VBROADCASTI128 quant%s<>+%d(SB), %s", g.name, 16*i, register)
		}
		sums := []int{0, 8, 9, 10}[:vectors]
		g.eachRow(sums, func() {
			g.op("MOVQ BX, R9")
			g.op("MOVQ R8, R10")
			for _, sum := range sums {
				g.op("VXORPS Y%d, Y%[1]d, Y%[1]d", sum)
			}
		}, func() {
			g.op("VPBROADCASTW (SI), X2")
			g.op("VCVTPH2PS X2, Y2")
			unpack()
			g.op("VPABSB Y4, Y5")
			for v, sum := range sums {
				g.op("VMOVDQU %d(R9), Y6", 32*v)
				g.op("VPSIGNB Y4, Y6, Y6")
				if g.name == vnni.name {
					g.op("VPXOR Y7, Y7, Y7")
					g.op("VPDPBUSD Y6, Y5, Y7")
				} else {
					g.op("VPMADDUBSW Y6, Y5, Y7")
					g.op("VPMADDWD Y15, Y7, Y7")
				}
				g.op("VCVTDQ2PS Y7, Y7")
				g.op("VBROADCASTSS %d(R10), Y3", 4*v)
				g.op("VMULPS Y3, Y2, Y3")
				g.op("VFMADD231PS Y7, Y3, Y%d", sum)
			}
			g.op("ADDQ $%d, SI", size)
			g.op("ADDQ $%d, R9", 32*vectors)
			g.op("ADDQ $%d, R10", 4*vectors)
		})
	})
}

// floatRows writes the product of rows of numbers of the given size with a vector of float32, 32 numbers at a time.
func (g *gen) floatRows(name, what string, size int) {
	args := []arg{{"y", "DI"}, {"w", "SI"}, {"x", "BX"}, {"k", "CX"}, {"n", "DX"}, {"rest", "R8"}}
	for i := range args {
		if args[i].name == "x" {
			args[i].name = "a"
		}
	}
	doc := "y[i] = Σ of 32·k numbers of row i, for n rows of " + what + " that are rest bytes longer."
	g.function(name, doc, args, func() {
		g.eachRow([]int{0}, func() {
			g.op("MOVQ BX, R9")
			for v := range 4 {
				g.op("VXORPS Y%d, Y%[1]d, Y%[1]d", v)
			}
		}, func() {
			for v := range 4 {
				if size == 4 {
					g.op("VMOVUPS %d(SI), Y%d", 32*v, 4+v)
				} else {
					g.op("VPMOVZXWD %d(SI), Y%d", 16*v, 4+v)
					g.op("VPSLLD $16, Y%d, Y%[1]d", 4+v)
				}
				g.op("VFMADD231PS %d(R9), Y%d, Y%d", 32*v, 4+v, v)
			}
			g.op("ADDQ $%d, SI", 32*size)
			g.op("ADDQ $128, R9")
		}, "VADDPS Y1, Y0, Y0", "VADDPS Y3, Y2, Y2", "VADDPS Y2, Y0, Y0", "ADDQ R8, SI")
	})
}

// eachRow writes the loops over DX rows and the CX blocks of each. Its sums are in the lanes of some registers after
// the instructions end; they are stored AX numbers apart.
func (g *gen) eachRow(sums []int, begin, block func(), end ...string) {
	if len(sums) > 1 {
		g.op("SHLQ $2, AX")
	}
	g.op("TESTQ DX, DX")
	g.op("JLE done")
	g.line("row:")
	begin()
	g.op("MOVQ CX, R11")
	g.op("TESTQ R11, R11")
	g.op("JLE sum")
	g.line("block:")
	block()
	g.op("DECQ R11")
	g.op("JGT block")
	g.line("sum:")
	for _, line := range end {
		g.op("%s", line)
	}
	if len(sums) > 1 {
		g.op("MOVQ DI, R9")
	}
	for i, sum := range sums {
		g.op("VEXTRACTF128 $1, Y%d, X1", sum)
		g.op("VADDPS X1, X%d, X%[1]d", sum)
		g.op("VMOVHLPS X%d, X%[1]d, X1", sum)
		g.op("VADDPS X1, X%d, X%[1]d", sum)
		g.op("VMOVSHDUP X%d, X1", sum)
		g.op("VADDSS X1, X%d, X%[1]d", sum)
		if len(sums) == 1 {
			g.op("VMOVSS X%d, (DI)", sum)
			continue
		}
		g.op("VMOVSS X%d, (R9)", sum)
		if i+1 < len(sums) {
			g.op("ADDQ AX, R9")
		}
	}
	g.op("ADDQ $4, DI")
	g.op("DECQ DX")
	g.op("JGT row")
	g.line("done:")
}
