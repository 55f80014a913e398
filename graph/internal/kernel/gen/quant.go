package main

import "strings"

// vnni is AVX2 with the dot products of AVX-512 VNNI on registers of the same width.
var vnni = isa{"VNNI", "amd64", "MOVQ", "Y", 8, 32, nil, ""}

// quants returns the files of the products with matrices stored by rows in blocks, by name.
//
// A kernel multiplies some rows by one vector x. For blocks of whole numbers, x is in blocks of 32 whole numbers with a
// scale too: a block of a row adds the whole number Σ n·x times both scales to the row's sum.
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
		g.quantRows("rowsQ8", "32 whole numbers of 8 bits", 34, func() { g.op("VMOVDQU 2(SI), Y4") })
		g.quantRows("rowsQ4", "32 whole numbers of 4 bits from −8 on", 18, func() {
			g.op("VMOVDQU 2(SI), X4")
			g.op("VPSRLW $4, X4, X5")
			g.op("VINSERTI128 $1, X5, Y4, Y4")
			g.op("VPAND Y14, Y4, Y4")
			g.op("VPSUBB Y13, Y4, Y4")
		})
		if s.name == avx2.name {
			g.floatRows("rowsF32", "float32", 4)
			g.floatRows("rowsBF16", "bfloat16", 2)
		}
		out["quant/quant_"+strings.ToLower(s.name)+"_amd64.s"] = g.text.String()
	}
	out["quant/quant_stubs_amd64.go"] = stubs.String()
	neonQuants(out)
}

// quantRows writes the product of rows of blocks with a vector of blocks. unpack loads the whole numbers of a block at
// SI into Y4. Since the instructions multiply numbers without a sign by signed ones, x takes the signs of the row's.
func (g *gen) quantRows(name, what string, size int, unpack func()) {
	args := []arg{{"y", "DI"}, {"w", "SI"}, {"x", "BX"}, {"scale", "R8"}, {"k", "CX"}, {"n", "DX"}}
	doc := "y[i] = Σ of k blocks of row i, for n rows of blocks of a binary16 scale and " + what + "."
	g.function(name, doc, args, func() {
		for i, register := range []string{"Y15", "Y14", "Y13"} {
			g.op("VBROADCASTI128 quant%s<>+%d(SB), %s", g.name, 16*i, register)
		}
		g.eachRow(func() {
			g.op("MOVQ BX, R9")
			g.op("MOVQ R8, R10")
			g.op("VXORPS Y0, Y0, Y0")
		}, func() {
			g.op("VPBROADCASTW (SI), X2")
			g.op("VCVTPH2PS X2, Y2")
			g.op("VBROADCASTSS (R10), Y3")
			g.op("VMULPS Y3, Y2, Y2")
			unpack()
			g.op("VMOVDQU (R9), Y6")
			g.op("VPABSB Y4, Y5")
			g.op("VPSIGNB Y4, Y6, Y6")
			if g.name == vnni.name {
				g.op("VPXOR Y7, Y7, Y7")
				g.op("VPDPBUSD Y6, Y5, Y7")
			} else {
				g.op("VPMADDUBSW Y6, Y5, Y7")
				g.op("VPMADDWD Y15, Y7, Y7")
			}
			g.op("VCVTDQ2PS Y7, Y7")
			g.op("VFMADD231PS Y7, Y2, Y0")
			g.op("ADDQ $%d, SI", size)
			g.op("ADDQ $32, R9")
			g.op("ADDQ $4, R10")
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
		g.eachRow(func() {
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

// eachRow writes the loops over DX rows and the CX blocks of each, whose sum is in the lanes of Y0 after the
// instructions end.
func (g *gen) eachRow(begin, block func(), end ...string) {
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
	g.op("VEXTRACTF128 $1, Y0, X1")
	g.op("VADDPS X1, X0, X0")
	g.op("VMOVHLPS X0, X0, X1")
	g.op("VADDPS X1, X0, X0")
	g.op("VMOVSHDUP X0, X1")
	g.op("VADDSS X1, X0, X0")
	g.op("VMOVSS X0, (DI)")
	g.op("ADDQ $4, DI")
	g.op("DECQ DX")
	g.op("JGT row")
	g.line("done:")
}
