package main

import "fmt"

// neonPacked is packed for NEON. It takes 16 columns of a strip at a time.
func (g *gen) neonPacked() {
	for _, p := range []packing{{"BF16", "half", 2}, {"Int8", "eighth", 1}} {
		g.neonPackedRow(p)
		g.neonUnpack(p)
	}
}

const (
	group   = 4  // vectors
	number0 = 20 // the first register of a group's numbers; the registers before and after hold their inputs
)

// neonArgs returns p's arguments: R2 the packed numbers, R3 their scales.
func (p packing) neonArgs(before []arg, after ...arg) []arg {
	list := p.args(before, after...)
	for i, a := range list {
		switch a.name {
		case p.operand:
			list[i].register = "R2"
		case "scale":
			list[i].register = "R3"
		}
	}
	return list
}

// neonNumbers loads the next 16 numbers of a row into four registers, as float32; R6 runs through the scales.
func (g *gen) neonNumbers(p packing) {
	if p.name == "BF16" {
		g.op("VLD1.P 32(R2), [V18.H8, V19.H8]")
		for i := range group {
			g.word(instruction([]string{"shll", "shll2"}[i%2], number0+i, 18+i/2))
		}
		return
	}
	g.op("FMOVQ.P 16(R2), F17")
	g.word(instruction("sxtl 8h", 18, 17))
	g.word(instruction("sxtl2 8h", 19, 17))
	g.op("VLD1.P 64(R6), [%s]", vectorList(number0+group, group))
	for i := range group {
		v := number0 + i
		g.word(instruction([]string{"sxtl", "sxtl2"}[i%2], v, 18+i/2))
		g.word(instruction("scvtf", v, v))
		g.word(instruction("fmul", v, v, v+group))
	}
}

// neonStrip writes a loop over the k rows of a strip.
func (g *gen) neonStrip(p packing, k string, begin func(), each func(at int)) {
	g.neonRepeat(k, func() {
		begin()
		if p.name == "Int8" {
			g.op("MOVD R3, R6")
		}
		for at := 0; at < stripCols/g.lanes; at += group {
			g.neonNumbers(p)
			each(at)
		}
	})
}

func (g *gen) neonPackedRow(p packing) {
	doc := fmt.Sprintf("d + a·b → c for one row of a and k contiguous rows of a strip of %d columns kept as %s.",
		stripCols, p.name)
	args := p.neonArgs([]arg{{"c", "R0"}, {"a", "R1"}}, arg{"d", "R4"}, arg{"k", "R5"})
	g.function("row"+p.name, doc, args, func() {
		vectors := stripCols / g.lanes
		for v := range vectors {
			g.word(instruction("eor", v, v, v))
		}
		g.neonStrip(p, "R5", func() { g.op("FMOVS.P %d(R1), F%d", bytes, vectors) }, func(at int) {
			for i := range group {
				g.word(byElement(at+i, number0+i, vectors, 0))
			}
		})
		g.op("CBZ R4, store")
		for v := range vectors {
			g.op("FMOVQ %d(R4), F%d", v*g.bytes(), number0)
			g.word(instruction("fadd", v, v, number0))
		}
		g.line("store:")
		for v := range vectors {
			g.op("FMOVQ F%d, %d(R0)", v, v*g.bytes())
		}
	})
}

func (g *gen) neonUnpack(p packing) {
	doc := fmt.Sprintf("k rows of a strip of %d columns kept as %s → float32.", stripCols, p.name)
	g.function("unpack"+p.name, doc, p.neonArgs([]arg{{"dst", "R0"}}, arg{"k", "R5"}), func() {
		g.neonStrip(p, "R5", func() {}, func(int) { g.op("VST1.P [%s], 64(R0)", vectorList(number0, group)) })
	})
}
