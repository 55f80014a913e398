package main

// neonScale multiplies by alpha unless alpha is 1.
func (g *gen) neonScale(label string, t tile) {
	g.op("MOVWU %s, R20", g.args["alpha"])
	g.op("MOVD $0x3f800000, R21")
	g.op("CMPW R21, R20")
	g.op("BEQ %sscaled", label)
	g.op("FMOVS %s, F0", g.args["alpha"])
	for i := g.sum(t, 0, 0); i < g.count; i++ {
		g.word(byElementProduct(i, i, 0))
	}
	g.line("%sscaled:", label)
}

// neonAdd adds the rows of d, unless it is nil, and advances d.
func (g *gen) neonAdd(label string, t tile) {
	g.op("CBZ R6, %sadded", label)
	g.lastOf(label+"add", func(full bool) {
		for row := range t.height {
			for v := range t.vectors {
				if acc := g.sum(t, row, v); v+1 < t.vectors || full {
					g.op("FMOVQ %d(R6), F0", v*g.bytes())
					g.word(instruction("fadd", acc, acc, 0))
				} else {
					g.op("ADD $%d, R6, R20", v*g.bytes())
					g.word(loadLanes(0, 20, 10, 21))
					g.word(instruction("fadd", acc, acc, 0))
				}
			}
			g.op("ADD R7, R6")
		}
	})
	g.line("%sadded:", label)
}

// neonStore writes the tile to c and advances c.
func (g *gen) neonStore(label string, t tile) {
	g.lastOf(label+"store", func(full bool) {
		for row := range t.height {
			for v := range t.vectors {
				if acc := g.sum(t, row, v); v+1 < t.vectors || full {
					g.op("FMOVQ F%d, %d(R0)", acc, v*g.bytes())
				} else {
					g.op("ADD $%d, R0, R20", v*g.bytes())
					g.word(storeLanes(acc, 20, 10, 21))
				}
			}
			g.op("ADD R1, R0")
		}
	})
}

// lastOf writes body for a full last vector and for an incomplete one.
func (g *gen) lastOf(label string, body func(full bool)) {
	g.op("CMP $%d, R10", g.lanes)
	g.op("BEQ %sfull", label)
	body(false)
	g.op("B %send", label)
	g.line("%sfull:", label)
	body(true)
	g.line("%send:", label)
}
