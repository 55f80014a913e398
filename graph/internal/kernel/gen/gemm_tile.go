package main

import "fmt"

// Registers of a product: DI c, R11 ldc, bases a, DX lda, BX b, R13 ldb, R14 3·ldb, CX k, R12 m, AX scratch.
var bases = []string{"SI", "R8", "R9", "R10"}

// product writes the two forms of the product.
func (g *gen) product() {
	args := []arg{
		{"c", "DI"}, {"ldc", "R11"}, {"a", ""}, {"lda", "DX"}, {"b", ""}, {"ldb", "R13"}, {"d", ""}, {"ldd", ""},
		{"k", ""}, {"m", "R12"}, {"n", "CX"}, {"alpha", ""},
	}
	doc := "d + alpha·a·b → c for m rows and n ≤ 2 vectors of columns: " +
		"the rows of a lie lda apart, and the rows of b's strip ldb."
	g.function("rows", doc, args, func() { g.tiles(false) })
	g.function("cols", "The same with a stored transposed: its columns lie lda apart.", args, func() { g.tiles(true) })
}

// tiles goes down the rows of c. It uses the highest tile as long as it fits.
func (g *gen) tiles(strided bool) {
	g.inBytes("R11", "DX", "R13", g.args["ldd"])
	g.op("LEAQ (R13)(R13*2), R14")
	g.op("CMPQ CX, $%d", g.lanes)
	g.op("JLE v1")
	g.op("SUBQ $%d, CX", g.lanes)
	for vectors := 2; vectors > 0; vectors-- {
		g.line("v%d:", vectors)
		if g.mask != "" {
			g.maskRegister()
		} else {
			g.op("MOVQ CX, %s", g.args["n"])
		}
		for i, height := range g.heights {
			label, next := fmt.Sprintf("v%dh%d", vectors, height), "done"
			if i+1 < len(g.heights) {
				next = fmt.Sprintf("v%dh%d", vectors, g.heights[i+1])
			}
			g.line("%s:", label)
			g.op("CMPQ R12, $%d", height)
			g.op("JLT %s", next)
			g.tile(label, tile{height, vectors, strided})
			g.op("SUBQ $%d, R12", height)
			if i == 0 || 2*height < g.heights[i-1] { // otherwise the lower tiles take the rest
				g.op("JMP %s", label)
			}
		}
		if vectors == 2 {
			g.op("JMP done")
		}
	}
	g.line("done:")
}

// tile is a tile of c in registers. It is strided if a is stored by columns.
type tile struct {
	height, vectors int
	strided         bool
}

func (g *gen) acc(t tile, row, vector int) string { return g.reg(g.sum(t, row, vector)) }

// sum returns the number of the register for an entry of the tile.
func (g *gen) sum(t tile, row, vector int) int {
	return g.count - t.height*t.vectors + row*t.vectors + vector
}

func (g *gen) tile(label string, t tile) {
	for row := range t.height {
		for v := range t.vectors {
			g.zero(g.acc(t, row, v))
		}
	}
	if t.height > 1 {
		g.prefetch(t)
	}
	g.op("MOVQ %s, SI", g.args["a"])
	if t.strided {
		g.op("LEAQ (DX)(DX*2), R8")
	} else {
		for i := 1; i < (t.height+2)/3; i++ {
			g.op("LEAQ (%s)(DX*2), %s", bases[i-1], bases[i])
			g.op("ADDQ DX, %s", bases[i])
		}
	}
	g.op("MOVQ %s, BX", g.args["b"])
	g.loop(label, t)
	g.scale(label, t)
	g.add(label, t)
	g.store(label, t)
	if t.strided {
		g.op("ADDQ $%d, %s", 4*t.height, g.args["a"])
	} else {
		g.op("IMUL3Q $%d, DX, AX", t.height)
		g.op("ADDQ AX, %s", g.args["a"])
	}
}

// prefetch prefetches the rows of c in which the tile ends. They go to the second cache: if rows lie a multiple of 4
// KiB apart, they would evict one another and b's strip from the first.
func (g *gen) prefetch(t tile) {
	g.op("MOVQ DI, AX")
	for row := range t.height {
		for v := range t.vectors {
			g.op("PREFETCHT1 %d(AX)", v*g.bytes())
		}
		if row+1 < t.height {
			g.op("ADDQ R11, AX")
		}
	}
}

const unroll = 4

// loop runs over k.
func (g *gen) loop(label string, t tile) {
	g.op("MOVQ %s, CX", g.args["k"])
	g.op("SUBQ $%d, CX", unroll)
	g.op("JLT %stail", label)
	g.line("%sloop:", label)
	for step := range unroll {
		g.step(t, step)
	}
	if t.strided {
		g.op("LEAQ (SI)(DX*4), SI")
	} else {
		g.advance(t, 4*unroll)
	}
	g.op("LEAQ (BX)(R13*4), BX")
	g.op("SUBQ $%d, CX", unroll)
	g.op("JGE %sloop", label)
	g.line("%stail:", label)
	g.op("ADDQ $%d, CX", unroll)
	g.op("JLE %send", label)
	g.line("%sone:", label)
	g.step(t, 0)
	if t.strided {
		g.op("ADDQ DX, SI")
	} else {
		g.advance(t, 4)
	}
	g.op("ADDQ R13, BX")
	g.op("DECQ CX")
	g.op("JGT %sone", label)
	g.line("%send:", label)
}

func (g *gen) advance(t tile, bytes int) {
	for _, base := range bases[:(t.height+2)/3] {
		g.op("ADDQ $%d, %s", bytes, base)
	}
}

// step adds the products of one k, the step-th of the unrolled loop.
func (g *gen) step(t tile, step int) {
	index := []string{"", "(R13*1)", "(R13*2)", "(R14*1)"}[step]
	for v := range t.vectors {
		g.op("VMOVUPS %d(BX)%s, %s", v*g.bytes(), index, g.reg(v))
	}
	first := t.vectors
	rotating := min(6, g.count-t.height*t.vectors-first)
	for row := range t.height {
		factor := first + row%rotating
		g.op("VBROADCASTSS %s, %s", t.entry(row, step), g.reg(factor))
		for v := range t.vectors {
			g.op("%s", g.multiplyAdd(v, factor, g.sum(t, row, v)))
		}
	}
}

// multiplyAdd returns the instruction that adds the product of two registers to a third.
func (g *gen) multiplyAdd(x, y, sum int) string {
	if g.name == bf16.name {
		return dotPairs(x, y, sum)
	}
	return fmt.Sprintf("VFMADD231PS %s, %s, %s", g.reg(x), g.reg(y), g.reg(sum))
}

// entry returns the address of a's entry in a row of the tile.
func (t tile) entry(row, step int) string {
	if t.strided {
		return fmt.Sprintf("%d(SI)%s", 4*row, []string{"", "(DX*1)", "(DX*2)", "(R8*1)"}[step])
	}
	return fmt.Sprintf("%d(%s)%s", 4*step, bases[row/3], []string{"", "(DX*1)", "(DX*2)"}[row%3])
}

// scale multiplies by alpha unless alpha is 1.
func (g *gen) scale(label string, t tile) {
	g.op("CMPL %s, $0x3f800000", g.args["alpha"])
	g.op("JEQ %sscaled", label)
	g.op("VBROADCASTSS %s, %s", g.args["alpha"], g.reg(0))
	for row := range t.height {
		for v := range t.vectors {
			g.op("VMULPS %s, %s, %[2]s", g.reg(0), g.acc(t, row, v))
		}
	}
	g.line("%sscaled:", label)
}

// add adds the rows of d, unless it is nil, and advances d.
func (g *gen) add(label string, t tile) {
	g.op("MOVQ %s, AX", g.args["d"])
	g.op("TESTQ AX, AX")
	g.op("JEQ %sadded", label)
	g.op("MOVQ %s, R8", g.args["ldd"])
	g.lastVector(label+"add", func(load string) {
		for row := range t.height {
			for v := range t.vectors {
				acc, at := g.acc(t, row, v), v*g.bytes()
				if v+1 < t.vectors || load == "" {
					g.op("VADDPS %d(AX), %s, %[2]s", at, acc)
				} else if g.mask != "" {
					g.op("VADDPS %d(AX), %s, %s, %[2]s", at, acc, g.mask)
				} else {
					g.op("VMASKMOVPS %d(AX), %s, %s", at, load, g.reg(0))
					g.op("VADDPS %s, %s, %[2]s", g.reg(0), acc)
				}
			}
			g.op("ADDQ R8, AX")
		}
	})
	g.op("MOVQ AX, %s", g.args["d"])
	g.line("%sadded:", label)
}

// store writes the tile to c and advances c.
func (g *gen) store(label string, t tile) {
	g.lastVector(label+"store", func(mask string) {
		for row := range t.height {
			for v := range t.vectors {
				if v+1 < t.vectors || mask == "" {
					g.op("VMOVUPS %s, %d(DI)", g.acc(t, row, v), v*g.bytes())
				} else if g.mask != "" {
					g.op("VMOVUPS %s, %s, %d(DI)", g.acc(t, row, v), mask, v*g.bytes())
				} else {
					g.op("VMASKMOVPS %s, %s, %d(DI)", g.acc(t, row, v), mask, v*g.bytes())
				}
			}
			g.op("ADDQ R11, DI")
		}
	})
}

// lastVector writes body with the mask of the last column vector. Without mask registers, it also writes body without a
// mask, since masked moves are slow there.
func (g *gen) lastVector(label string, body func(mask string)) {
	if g.mask != "" {
		body(g.mask)
		return
	}
	g.op("MOVQ %s, CX", g.args["n"])
	g.op("CMPQ CX, $%d", g.lanes)
	g.op("JEQ %sfull", label)
	g.op("NEGQ CX")
	g.op("LEAQ mask%s<>+64(SB), BX", g.name)
	g.op("VMOVUPS (BX)(CX*4), %s", g.reg(1))
	body(g.reg(1))
	g.op("JMP %send", label)
	g.line("%sfull:", label)
	body("")
	g.line("%send:", label)
}
