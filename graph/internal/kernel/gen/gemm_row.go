package main

import "fmt"

// row writes the product of a single row with a matrix stored by rows, 8 vectors at a time and at the end fewer. It
// reads every line of b once. With rounded it rounds b first, and at the end it reads lines up to four times.
// Registers: DI c, SI a, DX lda, BX b, R13 ldb, R11 d, CX k, R12 n, R8 16·ldb.
func (g *gen) row(rounded bool) {
	const most, ahead = 8, 4 // prefetches 2⁴ rows ahead
	args := []arg{
		{"c", "DI"}, {"a", ""}, {"lda", "DX"}, {"b", ""}, {"ldb", "R13"}, {"d", "R11"}, {"k", ""}, {"n", "R12"},
		{"alpha", ""},
	}
	name, doc := "row", "The same for one row of a and n columns."
	if rounded {
		name, doc = "roundedRow", "The same as row for b rounded to bfloat16."
	}
	g.function(name, doc, args, func() {
		if rounded {
			g.roundingConstants()
		}
		g.inBytes("DX", "R13")
		g.op("MOVQ R13, R8")
		g.op("SHLQ $%d, R8", ahead)
		g.fullColumns(most, rounded)
		if rounded { // rounding takes longer than reading a line of b again
			for _, vectors := range []int{4, 2, 1} {
				g.fullColumns(vectors, rounded)
			}
			g.lastColumns(1, rounded)
		} else {
			for vectors := most; vectors > 0; vectors-- {
				g.lastColumns(vectors, rounded)
			}
		}
		g.line("done:")
	})
}

// fullColumns writes the loop over columns that fill some vectors.
func (g *gen) fullColumns(vectors int, rounded bool) {
	label, next := fmt.Sprintf("whole%d", vectors), fmt.Sprintf("next%d", vectors)
	g.line("%s:", label)
	g.op("CMPQ R12, $%d", vectors*g.lanes)
	g.op("JLT %s", next)
	g.columns(label, vectors, false, rounded)
	g.op("ADDQ $%d, %s", vectors*g.bytes(), g.args["b"])
	g.op("ADDQ $%d, DI", vectors*g.bytes())
	g.op("SUBQ $%d, R12", vectors*g.lanes)
	g.op("TESTQ R11, R11")
	g.op("JEQ %s", label)
	g.op("ADDQ $%d, R11", vectors*g.bytes())
	g.op("JMP %s", label)
	g.line("%s:", next)
}

// lastColumns writes the columns at the end, if they begin the last of some vectors.
func (g *gen) lastColumns(vectors int, rounded bool) {
	label, next := fmt.Sprintf("v%d", vectors), fmt.Sprintf("v%d", vectors-1)
	if vectors == 1 {
		next = "done"
	}
	g.line("%s:", label)
	g.op("MOVQ R12, CX")
	g.op("SUBQ $%d, CX", (vectors-1)*g.lanes)
	g.op("JLE %s", next)
	if g.mask != "" {
		g.maskRegister()
	} else {
		g.op("NEGQ CX")
		g.op("LEAQ mask%s<>+64(SB), AX", g.name)
		g.op("VMOVUPS (AX)(CX*4), %s", g.reg(lastMask))
	}
	g.columns(label, vectors, true, rounded)
	if vectors > 1 {
		g.op("JMP done")
	}
}

const lastMask, lastLoaded = 10, 11 // registers of the mask and of the numbers of an incomplete vector

// columns writes the product for some vectors of columns, of which the last may be incomplete. Register 0 holds a
// number of a, and the next ones hold the sums.
func (g *gen) columns(label string, vectors int, incomplete, rounded bool) {
	each := func(body func(v int, masked bool)) {
		for v := range vectors {
			body(v, incomplete && v == vectors-1)
		}
	}
	load := func(v int, from string) {
		if g.mask != "" {
			g.op("VMOVUPS.Z %d(%s), %s, %s", v*g.bytes(), from, g.mask, g.reg(lastLoaded))
		} else {
			g.op("VMASKMOVPS %d(%s), %s, %s", v*g.bytes(), from, g.reg(lastMask), g.reg(lastLoaded))
		}
	}
	each(func(v int, _ bool) { g.zero(g.reg(1 + v)) })
	g.op("MOVQ %s, SI", g.args["a"])
	g.op("MOVQ %s, BX", g.args["b"])
	g.op("MOVQ %s, CX", g.args["k"])
	g.line("%sloop:", label)
	g.op("VBROADCASTSS (SI), %s", g.reg(0))
	for at := 0; at < vectors*g.bytes(); at += 64 {
		g.op("PREFETCHT0 %d(BX)(R8*1)", at)
	}
	each(func(v int, masked bool) {
		switch {
		case masked:
			load(v, "BX")
		case rounded:
			g.op("VMOVUPS %d(BX), %s", v*g.bytes(), g.reg(lastLoaded))
		default:
			g.op("VFMADD231PS %d(BX), %s, %s", v*g.bytes(), g.reg(0), g.reg(1+v))
			return
		}
		if rounded {
			g.round(g.reg(lastLoaded), v)
		}
		g.op("VFMADD231PS %s, %s, %s", g.reg(lastLoaded), g.reg(0), g.reg(1+v))
	})
	g.op("ADDQ DX, SI")
	g.op("ADDQ R13, BX")
	g.op("DECQ CX")
	g.op("JGT %sloop", label)
	g.op("VBROADCASTSS %s, %s", g.args["alpha"], g.reg(0))
	each(func(v int, _ bool) { g.op("VMULPS %s, %s, %[2]s", g.reg(0), g.reg(1+v)) })
	g.op("TESTQ R11, R11")
	g.op("JEQ %sstore", label)
	each(func(v int, masked bool) {
		if masked {
			load(v, "R11")
			g.op("VADDPS %s, %s, %[2]s", g.reg(lastLoaded), g.reg(1+v))
		} else {
			g.op("VADDPS %d(R11), %s, %[2]s", v*g.bytes(), g.reg(1+v))
		}
	})
	g.line("%sstore:", label)
	each(func(v int, masked bool) {
		switch at := v * g.bytes(); {
		case !masked:
			g.op("VMOVUPS %s, %d(DI)", g.reg(1+v), at)
		case g.mask != "":
			g.op("VMOVUPS %s, %s, %d(DI)", g.reg(1+v), g.mask, at)
		default:
			g.op("VMASKMOVPS %s, %s, %d(DI)", g.reg(1+v), g.reg(lastMask), at)
		}
	})
}

// dots writes the product of a single row with a matrix stored by columns. A sum has 16 parts for every length of the
// vectors: part i has the terms i, i+16, …; halves are added to halves until one number is left.
func (g *gen) dots() {
	args := []arg{
		{"c", "DI"}, {"a", ""}, {"b", "DX"}, {"ldb", "R13"}, {"d", "R11"}, {"k", "CX"}, {"n", "R12"}, {"alpha", ""},
	}
	doc := "The same for one row of a and n rows of b, which is stored transposed: " +
		"c[j] = d[j] + alpha·Σ a[l]·b[j·ldb+l]."
	g.function("dots", doc, args, func() {
		parts := 16 / g.lanes
		g.inBytes("R13")
		g.op("LEAQ (R13)(R13*2), R14")
		g.op("ANDQ $15, CX")
		if g.mask != "" {
			g.maskRegister()
		} else {
			g.op("NEGQ CX")
			g.op("LEAQ mask%s<>+64(SB), AX", g.name)
			for part := range parts {
				g.op("VMOVUPS %d(AX)(CX*4), %s", part*g.bytes(), g.reg(g.count-1-part))
			}
		}
		g.op("VMOVSS %s, X13", g.args["alpha"])
		labels := []string{"several", "single", "done"}
		for i, height := range []int{8 / parts, 1} {
			g.line("%s:", labels[i])
			g.op("CMPQ R12, $%d", height)
			g.op("JLT %s", labels[i+1])
			g.someDots(labels[i], height, parts)
			g.op("SUBQ $%d, R12", height)
			g.op("JMP %s", labels[i])
		}
		g.line("done:")
	})
}

// someDots writes height sums. Registers 0 … height·parts−1 hold the sums, the next ones the parts of a, then one the
// rows of b; X13 holds alpha.
func (g *gen) someDots(label string, height, parts int) {
	for i := range height * parts {
		g.zero(g.reg(i))
	}
	a, row := height*parts, height*parts+parts
	g.op("MOVQ DX, BX")
	g.op("MOVQ %s, SI", g.args["a"])
	g.op("LEAQ (BX)(R13*4), R8")
	address := func(i, part int) string {
		offset := []string{"", "(R13*1)", "(R13*2)", "(R14*1)"}[i%4]
		return fmt.Sprintf("%d(%s)%s", part*g.bytes(), []string{"BX", "R8"}[i/4], offset)
	}
	g.op("MOVQ %s, CX", g.args["k"])
	g.op("SUBQ $16, CX")
	g.op("JLT %stail", label)
	g.line("%sloop:", label)
	for part := range parts {
		g.op("VMOVUPS %d(SI), %s", part*g.bytes(), g.reg(a+part))
	}
	for i := range height {
		for part := range parts {
			g.op("VFMADD231PS %s, %s, %s", address(i, part), g.reg(a+part), g.reg(i*parts+part))
		}
	}
	for _, pointer := range []string{"SI", "BX", "R8"} {
		g.op("ADDQ $64, %s", pointer)
	}
	g.op("SUBQ $16, CX")
	g.op("JGE %sloop", label)
	g.line("%stail:", label)
	g.op("ADDQ $16, CX")
	g.op("JEQ %ssum", label)
	load := func(from string, part int, to string) {
		if g.mask != "" {
			g.op("VMOVUPS.Z %s, %s, %s", from, g.mask, to)
		} else {
			g.op("VMASKMOVPS %s, %s, %s", from, g.reg(g.count-1-part), to)
		}
	}
	for part := range parts {
		load(fmt.Sprintf("%d(SI)", part*g.bytes()), part, g.reg(a+part))
	}
	for i := range height {
		for part := range parts {
			load(address(i, part), part, g.reg(row))
			g.op("VFMADD231PS %s, %s, %s", g.reg(row), g.reg(a+part), g.reg(i*parts+part))
		}
	}
	g.line("%ssum:", label)
	for i := range height {
		g.fold(i*parts, row)
		g.op("VMULSS X13, X%d, X%[1]d", i*parts)
	}
	g.op("TESTQ R11, R11")
	g.op("JEQ %sstore", label)
	for i := range height {
		g.op("VADDSS %d(R11), X%d, X%[2]d", 4*i, i*parts)
	}
	g.op("ADDQ $%d, R11", 4*height)
	g.line("%sstore:", label)
	for i := range height {
		g.op("VMOVSS X%d, %d(DI)", i*parts, 4*i)
		g.op("ADDQ R13, DX")
	}
	g.op("ADDQ $%d, DI", 4*height)
}

// fold adds 16 numbers, from register i on, into the first.
func (g *gen) fold(i, free int) {
	if g.lanes == 16 {
		g.op("VEXTRACTF64X4 $1, Z%d, Y%d", i, free)
	} else {
		free = i + 1
	}
	g.op("VADDPS Y%d, Y%d, Y%[2]d", free, i)
	g.op("VEXTRACTF128 $1, Y%d, X%d", i, free)
	g.op("VADDPS X%d, X%d, X%[2]d", free, i)
	g.op("VHADDPS X%d, X%[1]d, X%[1]d", i)
	g.op("VHADDPS X%d, X%[1]d, X%[1]d", i)
}

// roundings are the bits with which round computes.
var roundings = []struct {
	name string
	bits uint32
}{{"last", 1}, {"half", 0x7fff}, {"quiet", 1 << 22}, {"upper", 0xffff0000}, {"sign", 1 << 31}, {"exponent", 0x7f800000}}

// roundingTable writes the bits, in all lanes.
func (g *gen) roundingTable() {
	for i, c := range roundings {
		for lane := range g.lanes {
			g.line("DATA rounding%s<>+%d(SB)/4, $%#08x", g.name, g.bytes()*i+4*lane, c.bits)
		}
	}
	g.line("GLOBL rounding%s<>(SB), RODATA|NOPTR, $%d", g.name, g.bytes()*len(roundings))
}

// rounding returns the operand of some bits: a register, where there are enough of them.
func (g *gen) rounding(name string) string {
	for i, c := range roundings {
		if c.name != name {
			continue
		}
		if g.mask != "" {
			return g.reg(g.count - 1 - i)
		}
		return fmt.Sprintf("rounding%s<>+%d(SB)", g.name, g.bytes()*i)
	}
	panic("no bits " + name)
}

// roundingConstants sets the registers of the bits.
func (g *gen) roundingConstants() {
	for i, c := range roundings {
		if g.mask != "" {
			g.op("VMOVDQU32 rounding%s<>+%d(SB), %s", g.name, g.bytes()*i, g.rounding(c.name))
		}
	}
}

// roundCopies writes the rounding of a copied strip.
func (g *gen) roundCopies() {
	doc := "dst = n times two vectors of src, rounded to bfloat16."
	g.function("round", doc, []arg{{"dst", "DI"}, {"src", "SI"}, {"n", "CX"}}, func() {
		g.roundingConstants()
		g.repeat("CX", func() {
			for v := range 2 {
				g.op("VMOVUPS %d(SI), %s", v*g.bytes(), g.reg(v))
				g.round(g.reg(v), v)
				g.op("VMOVUPS %s, %d(DI)", g.reg(v), v*g.bytes())
			}
			g.op("ADDQ $%d, SI", 2*g.bytes())
			g.op("ADDQ $%d, DI", 2*g.bytes())
		})
	})
}

// round rounds the numbers in a register to bfloat16, as kernel.RoundBfloat16 does: it adds half of the last place, of
// two neighbours to the even one; NaN becomes quiet, and numbers below the normal ones 0. Vectors take turns in the
// registers.
func (g *gen) round(x string, v int) {
	if g.mask != "" {
		sum := g.reg(12 + v%8)
		g.op("VPSRLD $16, %s, %s", x, sum)
		g.op("VPANDD %s, %s, %[2]s", g.rounding("last"), sum)
		g.op("VPADDD %s, %s, %[2]s", g.rounding("half"), sum)
		g.op("VPADDD %s, %s, %[2]s", x, sum)
		g.op("VCMPPS $3, %s, %[1]s, K2", x)
		g.op("VPORD %s, %s, K2, %s", g.rounding("quiet"), x, sum)
		g.op("VPTESTMD %s, %s, K3", g.rounding("exponent"), x)
		g.op("VPANDD %s, %s, %[2]s", g.rounding("sign"), x)
		g.op("VPANDD %s, %s, K3, %s", g.rounding("upper"), sum, x)
		return
	}
	sum, small, which := g.reg(12), g.reg(13), g.reg(14)
	g.op("VPSRLD $16, %s, %s", x, sum)
	g.op("VPAND %s, %s, %[2]s", g.rounding("last"), sum)
	g.op("VPADDD %s, %s, %[2]s", g.rounding("half"), sum)
	g.op("VPADDD %s, %s, %[2]s", x, sum)
	g.op("VPOR %s, %s, %s", g.rounding("quiet"), x, small)
	g.op("VCMPPS $3, %s, %[1]s, %s", x, which)
	g.op("VBLENDVPS %s, %s, %s, %[3]s", which, small, sum)
	g.op("VPAND %s, %s, %[2]s", g.rounding("upper"), sum)
	g.op("VPAND %s, %s, %s", g.rounding("exponent"), x, which)
	g.op("VPXOR %s, %[1]s, %[1]s", small)
	g.op("VPCMPEQD %s, %s, %[2]s", small, which)
	g.op("VPAND %s, %s, %s", g.rounding("sign"), x, small)
	g.op("VBLENDVPS %s, %s, %s, %s", which, small, sum, x)
}
