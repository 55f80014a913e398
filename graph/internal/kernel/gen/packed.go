package main

import "fmt"

// stripCols is the number of columns in a strip of a packed matrix.
const stripCols = 64

// packing is the format of the numbers in a packed matrix.
type packing struct {
	name, operand string
	size          int // of a number in bytes
}

// packed writes the kernels of matrices with fewer bits, in strips of 64 columns.
func (g *gen) packed() {
	for _, p := range []packing{{"BF16", "half", 2}, {"Int8", "eighth", 1}} {
		g.packedRow(p)
		g.unpack(p)
	}
}

// args returns the arguments of a kernel: those before, the packed numbers, their scales, and those after.
func (p packing) args(before []arg, after ...arg) []arg {
	list := append(before, arg{p.operand, "BX"})
	if p.name == "Int8" {
		list = append(list, arg{"scale", "R8"})
	}
	return append(list, after...)
}

// number loads vector v of a row at BX into a register, as float32. A bfloat16 is the upper half of a float32; an int8
// is multiplied by the scale of its column.
func (g *gen) number(p packing, v int, to string) {
	at := fmt.Sprintf("%d(BX)", v*g.lanes*p.size)
	switch {
	case p.name == "BF16":
		g.op("VPMOVZXWD %s, %s", at, to)
		g.op("VPSLLD $16, %s, %[1]s", to)
	default:
		g.op("VPMOVSXBD %s, %s", at, to)
		g.op("VCVTDQ2PS %s, %[1]s", to)
		g.op("VMULPS %s, %s, %[2]s", g.columnScale(v), to)
	}
}

// columnScale returns the operand for the scales of vector v. With AVX-512 it is a register.
func (g *gen) columnScale(v int) string {
	if g.lanes == 16 {
		return g.reg(16 + v)
	}
	return fmt.Sprintf("%d(R8)", v*g.bytes())
}

// loadScales loads the registers of the scales.
func (g *gen) loadScales(p packing) {
	for v := 0; p.name == "Int8" && g.lanes == 16 && v < stripCols/g.lanes; v++ {
		g.op("VMOVUPS %d(R8), %s", v*g.bytes(), g.columnScale(v))
	}
}

// packedRow writes the product of a single row with a strip: an entry's terms are added in the order of k.
func (g *gen) packedRow(p packing) {
	vectors := stripCols / g.lanes
	doc := fmt.Sprintf("d + a·b → c for one row of a and k contiguous rows of a strip of %d columns kept as %s.",
		stripCols, p.name)
	args := p.args([]arg{{"c", "DI"}, {"a", "SI"}}, arg{"d", "R11"}, arg{"k", "CX"})
	g.function("row"+p.name, doc, args, func() {
		for v := range vectors {
			g.zero(g.reg(v))
		}
		g.loadScales(p)
		g.repeat("CX", func() {
			g.op("VBROADCASTSS (SI), %s", g.reg(vectors))
			for v := range vectors {
				number := g.reg(vectors + 1 + v%4)
				g.number(p, v, number)
				g.op("VFMADD231PS %s, %s, %s", number, g.reg(vectors), g.reg(v))
			}
			g.op("ADDQ $4, SI")
			g.op("ADDQ $%d, BX", stripCols*p.size)
		})
		g.op("TESTQ R11, R11")
		g.op("JEQ store")
		for v := range vectors {
			g.op("VADDPS %d(R11), %s, %[2]s", v*g.bytes(), g.reg(v))
		}
		g.line("store:")
		for v := range vectors {
			g.op("VMOVUPS %s, %d(DI)", g.reg(v), v*g.bytes())
		}
	})
}

// unpack writes the conversion of a strip's rows to float32.
func (g *gen) unpack(p packing) {
	doc := fmt.Sprintf("k rows of a strip of %d columns kept as %s → float32.", stripCols, p.name)
	g.function("unpack"+p.name, doc, p.args([]arg{{"dst", "DI"}}, arg{"k", "CX"}), func() {
		g.loadScales(p)
		g.repeat("CX", func() {
			for v := range stripCols / g.lanes {
				number := g.reg(v % 4)
				g.number(p, v, number)
				g.op("VMOVUPS %s, %d(DI)", number, v*g.bytes())
			}
			g.op("ADDQ $%d, DI", stripCols*4)
			g.op("ADDQ $%d, BX", stripCols*p.size)
		})
	})
}
