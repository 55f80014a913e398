package main

// copyStrip copies two vectors per row.
func (g *gen) copyStrip() {
	args := []arg{{"dst", "DI"}, {"src", "SI"}, {"ld", "DX"}, {"k", "CX"}}
	g.function("copyStrip", "k rows of 2 vectors each, ld apart → contiguous rows.", args, func() {
		g.inBytes("DX")
		g.repeat("CX", func() {
			for v := range 2 {
				g.op("VMOVUPS %d(SI), %s", v*g.bytes(), g.reg(v))
			}
			for v := range 2 {
				g.op("VMOVUPS %s, %d(DI)", g.reg(v), v*g.bytes())
			}
			g.op("ADDQ DX, SI")
			g.op("ADDQ $%d, DI", 2*g.bytes())
		})
	})
}

// transposeStrip works on squares of lanes × lanes in registers. It prefetches the rows that follow, which a product
// reads next.
func (g *gen) transposeStrip() {
	args := []arg{{"dst", "DI"}, {"src", "SI"}, {"ld", "DX"}, {"n", "CX"}}
	doc := "One vector of rows, ld apart, n vectors long → n·vector rows of one vector, 2 vectors apart."
	g.function("transposeStrip", doc, args, func() {
		g.inBytes("DX")
		g.op("IMUL3Q $%d, DX, R8", g.lanes)
		g.repeat("CX", func() {
			g.op("MOVQ SI, AX")
			for row := range g.lanes {
				g.op("VMOVUPS (AX), %s", g.reg(row))
				g.op("PREFETCHT0 (AX)(R8*1)")
				g.op("ADDQ DX, AX")
			}
			g.transposeSquare(2 * g.bytes())
			g.op("ADDQ $%d, SI", g.bytes())
			g.op("ADDQ $%d, DI", g.lanes*2*g.bytes())
		})
	})
}

// transposeSquare stores the columns of the rows in registers 0 … lanes−1, a stride in bytes apart.
func (g *gen) transposeSquare(stride int) {
	half := g.lanes
	for row := 0; row < g.lanes; row += 2 { // pairs of rows
		g.op("VUNPCKLPS %s, %s, %s", g.reg(row+1), g.reg(row), g.reg(half+row))
		g.op("VUNPCKHPS %s, %s, %s", g.reg(row+1), g.reg(row), g.reg(half+row+1))
	}
	for row := 0; row < g.lanes; row += 4 { // quads: register 4q+c holds, in lane l, rows 4q … 4q+3 of column 4l+c
		for c := range 4 {
			op := []string{"VUNPCKLPD", "VUNPCKHPD"}[c%2]
			g.op("%s %s, %s, %s", op, g.reg(half+row+2+c/2), g.reg(half+row+c/2), g.reg(row+c))
		}
	}
	for c := range 4 {
		g.transposeLanes(c, half, stride)
	}
}

// transposeLanes assembles the columns 4l+c and stores them.
func (g *gen) transposeLanes(c, half, stride int) {
	store := func(register, column int) { g.op("VMOVUPS %s, %d(DI)", g.reg(register), column*stride) }
	if g.lanes == 8 {
		for l := range 2 {
			g.op("VPERM2F128 $%#x, %s, %s, %s", 0x20+0x11*l, g.reg(4+c), g.reg(c), g.reg(half+l))
			store(half+l, 4*l+c)
		}
		return
	}
	shuffle := func(order, a, b, to int) {
		g.op("VSHUFF32X4 $%#x, %s, %s, %s", order, g.reg(b), g.reg(a), g.reg(to))
	}
	t := half + 4*c
	shuffle(0x88, c, 4+c, t)
	shuffle(0xdd, c, 4+c, t+1)
	shuffle(0x88, 8+c, 12+c, t+2)
	shuffle(0xdd, 8+c, 12+c, t+3)
	for l, order := range []int{0x88, 0x88, 0xdd, 0xdd} {
		shuffle(order, t+l%2, t+2+l%2, c)
		store(c, 4*l+c)
	}
}

// peak multiplies and adds in enough registers to keep both units busy.
func (g *gen) peak() {
	g.function("peak", "24 multiplications and additions of vectors, n times.", []arg{{"n", "CX"}}, func() {
		for i := range 14 {
			g.zero(g.reg(i))
		}
		g.repeat("CX", func() {
			for i := range 24 {
				g.op("VFMADD231PS %s, %s, %s", g.reg(0), g.reg(1), g.reg(2+i%12))
			}
		})
	})
}
