package main

import (
	"fmt"
	"strings"
)

// vnni is AVX2 with the dot products of AVX-512 VNNI on registers of the same width.
var vnni = isa{"VNNI", "amd64", "MOVQ", "Y", 8, 32, nil, ""}

// panelBlock is the number of bytes of a panel's block: eight scales in float32, and eight times 32 whole numbers.
const panelBlock = 32 + 8*32

// blocked is a format of blocks of 32 whole numbers with a scale.
type blocked struct {
	name string
	size int // of a block in bytes
}

var blockeds = []blocked{{"Q8", 34}, {"Q4", 18}}

// quants returns the files of the products with matrices stored by rows in blocks, by name.
//
// Kernels of whole numbers compute eight rows at a time, whose sums are in the lanes of a register. The whole number
// Σ n·x of a block is exact, and the products with both scales are added block by block, so that a product has the same
// bits in every kernel. One kernel reads rows as they are, for one vector x. For four vectors, another kernel first
// copies a block of eight rows as a panel: 4 numbers of each row in turn.
//
// The instructions multiply numbers without a sign by signed ones. The numbers of Q4, n from −8 to 7, are therefore
// taken as n + 8, for which −8·Σx is added. Q8 has n + 128 with VNNI; with AVX2, whose sums of two products would not
// fit 16 bits, they lose their signs to x.
func quants(out map[string]string) {
	var stubs strings.Builder
	stubs.WriteString(header(avx2) + "package quant\n")
	for _, s := range []isa{avx2, vnni} {
		g := &gen{isa: s, stubs: &stubs}
		g.line(header(s) + "#include \"textflag.h\"")
		g.quantConstants()
		for _, b := range blockeds {
			g.quantRows(b)
			g.quantPanel(b, 1)
			g.quantFours(b)
			if s.name == vnni.name {
				g.quantPanel(b, 2)
			}
		}
		if s.name == avx2.name {
			g.roundBlocks()
			for _, size := range []int{4, 2} {
				g.floatRows(size, 8, 1)
				g.floatRows(size, 2, 4)
			}
		}
		out["quant/quant_"+strings.ToLower(s.name)+"_amd64.s"] = g.text.String()
	}
	quantTiles(out, &stubs)
	out["quant/quant_stubs_amd64.go"] = stubs.String()
	neonQuants(out)
}

// quantConstant holds the place of each constant, which fills a vector of 128 bits; the last is the order of eight
// numbers.
var quantConstant = map[string]int{
	"1": 0, "15": 16, "sign": 32, "ones": 48, "size": 64, "127": 80, "∞": 96, "order": 112,
}

func (g *gen) quantConstants() {
	for i, bits := range []uint32{
		0x00010001, 0x0f0f0f0f, 0x80808080, 0x01010101, 0x7fffffff, 0x42fe0000, 0x7f800000,
	} {
		for word := range 4 {
			g.line("DATA quant%s<>+%d(SB)/4, $%#08x", g.name, 16*i+4*word, bits)
		}
	}
	for i, from := range []int{0, 4, 1, 5, 2, 6, 3, 7} {
		g.line("DATA quant%s<>+%d(SB)/4, $%d", g.name, quantConstant["order"]+4*i, from)
	}
	g.line("GLOBL quant%s<>(SB), RODATA|NOPTR, $144", g.name)
}

// quantSet sets a register to a constant.
func (g *gen) quantSet(constant, register string) {
	g.op("VBROADCASTI128 quant%s<>+%d(SB), %s", g.name, quantConstant[constant], register)
}

// loaded returns arguments that are loaded into the given registers.
func loaded(names string, registers ...string) (args []arg) {
	for i, name := range strings.Fields(names) {
		args = append(args, arg{name, registers[i]})
	}
	return args
}

func (b blocked) rowsDoc() string {
	return fmt.Sprintf("y[i] = Σ of k blocks of row i with x, for n times eight rows of %s, stride bytes apart. "+
		"scale and offset belong to x, as round sets them.", b.name)
}

func (b blocked) panelDoc(eights int) string {
	doc := fmt.Sprintf("panel = k blocks of eight rows of %s, stride bytes apart", b.name)
	if eights > 1 {
		doc += ", as rows of a panel of 16: the other eight begin 32 bytes before or after them"
	}
	return doc + "."
}

func (b blocked) foursDoc() string {
	return fmt.Sprintf("y[v·apart + i] = Σ of k blocks of row i of a panel of %s with vector v of four, whose blocks "+
		"take turns in x, scale and offset.", b.name)
}

const roundDoc = "x, scale, offset = k blocks of a: the scale of 32 numbers is the largest of them / 127, and each " +
	"is rounded to the nearest. offset is −8·Σx, where it is used. The blocks of as many vectors as apart take turns."

// quantRows writes the product of rows of blocks with a vector of blocks. A register holds numbers of rows 0 and 4, of
// 1 and 5, of 2 and 6, or of 3 and 7: the sums of all pairs are then in order.
func (g *gen) quantRows(b blocked) {
	args := loaded("y w x scale offset k n stride", "DI", "SI", "BX", "R8", "R9", "CX", "DX", "R10")
	g.function("rows"+b.name, b.rowsDoc(), args, func() {
		g.quantSet("1", "Y15")
		g.quantSet(map[string]string{"Q8": "sign", "Q4": "15"}[b.name], "Y14")
		g.op("LEAQ (R10)(R10*2), R11")
		g.op("TESTQ DX, DX")
		g.op("JLE done")
		g.line("rows:")
		g.eightRows()
		g.op("MOVQ BX, R15")
		g.op("VXORPS Y0, Y0, Y0")
		g.op("XORQ AX, AX")
		g.op("CMPQ AX, CX")
		g.op("JGE sum")
		g.line("block:")
		g.op("VBROADCASTI128 (R15), Y12")
		g.op("VBROADCASTI128 16(R15), Y13")
		for pair := range 4 {
			g.pair(pair, 2, "4")
			if b.name == "Q4" {
				g.op("VPSRLW $4, Y4, Y5")
				g.op("VPAND Y14, Y4, Y4")
				g.op("VPAND Y14, Y5, Y5")
			} else {
				g.pair(pair, 18, "5")
			}
			g.dotsOfPair(b, fmt.Sprintf("Y%d", 8+pair))
		}
		add := "VPHADDD"
		if b.name == "Q4" && g.name == avx2.name {
			add = "VPHADDW"
		}
		g.op("%s Y9, Y8, Y8", add)
		g.op("%s Y11, Y10, Y10", add)
		g.op("%s Y10, Y8, Y8", add)
		g.op("VPBROADCASTD (R9)(AX*4), Y1")
		g.whole(b, "Y8", "Y1")
		g.rowScales()
		g.op("VBROADCASTSS (R8)(AX*4), Y3")
		g.op("VMULPS Y3, Y2, Y2")
		g.op("VFMADD231PS Y8, Y2, Y0")
		g.nextOfRows(b.size)
		g.op("ADDQ $32, R15")
		g.op("INCQ AX")
		g.op("CMPQ AX, CX")
		g.op("JLT block")
		g.line("sum:")
		g.op("VMOVUPS Y0, (DI)")
		g.op("ADDQ $32, DI")
		g.op("LEAQ (SI)(R10*8), SI")
		g.op("DECQ DX")
		g.op("JGT rows")
		g.line("done:")
	})
}

// eightRows sets the registers of eight rows from SI on, and of the bytes to prefetch.
func (g *gen) eightRows() {
	g.op("MOVQ SI, R12")
	g.op("LEAQ (SI)(R10*4), R13")
	g.op("LEAQ (SI)(R10*8), R14")
}

// nextOfRows advances in eight rows, and prefetches as much of the eight after them.
func (g *gen) nextOfRows(size int) {
	g.prefetchRows(size)
	g.op("ADDQ $%d, R12", size)
	g.op("ADDQ $%d, R13", size)
}

// prefetchRows prefetches as much of the next eight rows as is read of eight: the processor itself sees eight short
// streams, and would prefetch little.
func (g *gen) prefetchRows(size int) {
	for at := 0; at < 8*size; at += 64 {
		g.op("PREFETCHT0 %d(R14)", at)
	}
	g.op("ADDQ $%d, R14", 8*size)
}

// row returns the operand at an offset in the current block of a row of eight: R12 is at row 0, R13 at row 4.
func row(i, offset int) string {
	return fmt.Sprintf("%d(R%d)%s", offset, 12+i/4, []string{"", "(R10*1)", "(R10*2)", "(R11*1)"}[i%4])
}

// pair loads 16 bytes of a row and of the fourth after it.
func (g *gen) pair(i, offset int, register string) {
	g.op("VMOVDQU %s, X%s", row(i, offset), register)
	g.op("VINSERTI128 $1, %s, Y%s, Y%[2]s", row(i+4, offset), register)
}

// rowScales loads the scales of eight rows into Y2.
func (g *gen) rowScales() {
	g.op("VPXOR X2, X2, X2")
	for i := range 8 {
		g.op("VPINSRW $%d, %s, X2, X2", i, row(i, 0))
	}
	g.op("VCVTPH2PS X2, Y2")
}

// dotsOfPair sets a register to the products of Y4 and Y5 with the halves of x in Y12 and Y13, added in groups.
func (g *gen) dotsOfPair(b blocked, sum string) {
	switch {
	case g.name == vnni.name:
		g.op("VPXOR %s, %[1]s, %[1]s", sum)
		for half := range 2 {
			if b.name == "Q8" {
				g.op("VPXOR Y14, Y%d, Y%[1]d", 4+half)
			}
			g.op("VPDPBUSD Y%d, Y%d, %s", 12+half, 4+half, sum)
		}
	case b.name == "Q4":
		g.op("VPMADDUBSW Y12, Y4, Y4")
		g.op("VPMADDUBSW Y13, Y5, Y5")
		g.op("VPADDW Y5, Y4, %s", sum)
	default:
		for half := range 2 {
			g.op("VPABSB Y%d, Y%d", 4+half, 6+half)
			g.op("VPSIGNB Y%d, Y%d, Y%[1]d", 4+half, 12+half)
			g.op("VPMADDUBSW Y%d, Y%d, Y%[1]d", 4+half, 6+half)
			g.op("VPMADDWD Y15, Y%d, Y%[1]d", 4+half)
		}
		g.op("VPADDD Y5, Y4, %s", sum)
	}
}

// whole converts the sums of a block to float32, after it has added the offset that a register holds.
func (g *gen) whole(b blocked, sum, offset string) {
	switch {
	case b.name == "Q4" && g.name == avx2.name:
		g.op("VPMADDWD Y15, %s, %[1]s", sum)
		g.op("VPADDD %s, %s, %[2]s", offset, sum)
	case b.name == "Q4":
		g.op("VPADDD %s, %s, %[2]s", offset, sum)
	case g.name == vnni.name: // −128·Σx
		g.op("VPSLLD $4, %s, %[1]s", offset)
		g.op("VPADDD %s, %s, %[2]s", offset, sum)
	}
	g.op("VCVTDQ2PS %s, %[1]s", sum)
}

// quantPanel writes the copy of eight rows as a panel: vector t of a block holds numbers 4t … 4t+3 of each row. In a
// wide panel it holds twice eight rows.
func (g *gen) quantPanel(b blocked, eights int) {
	args := loaded("panel w k stride", "DI", "SI", "CX", "R10")
	name := []string{"panel", "widePanel"}[eights-1] + b.name
	g.function(name, b.panelDoc(eights), args, func() {
		g.quantSet(map[string]string{"Q8": "sign", "Q4": "15"}[b.name], "Y14")
		g.op("LEAQ (R10)(R10*2), R11")
		g.eightRows()
		g.repeat("CX", func() {
			g.rowScales()
			g.op("VMOVUPS Y2, (DI)")
			for half := range b.size / 16 {
				for pair := range 4 {
					g.pair(pair, 2+16*half, fmt.Sprint(4+pair))
				}
				for i, name := range []string{"L", "H"} {
					g.op("VPUNPCK%sDQ Y5, Y4, Y%d", name, 8+i)
					g.op("VPUNPCK%sDQ Y7, Y6, Y%d", name, 10+i)
				}
				for t := range 4 {
					g.op("VPUNPCK%sQDQ Y%d, Y%d, Y12", []string{"L", "H"}[t%2], 10+t/2, 8+t/2)
					at := (32 + 128*half + 32*t) * eights
					switch {
					case b.name == "Q4":
						g.op("VPSRLW $4, Y12, Y13")
						g.op("VPAND Y14, Y12, Y12")
						g.op("VPAND Y14, Y13, Y13")
						g.op("VMOVDQU Y13, %d(DI)", at+128*eights)
					case g.name == vnni.name:
						g.op("VPXOR Y14, Y12, Y12")
					}
					g.op("VMOVDQU Y12, %d(DI)", at)
				}
			}
			g.op("ADDQ $%d, DI", panelBlock*eights)
			g.nextOfRows(b.size)
		})
	})
}

// quantFours writes the product of a panel with four vectors of blocks.
func (g *gen) quantFours(b blocked) {
	args := loaded("y panel x scale offset k apart", "DI", "SI", "BX", "R8", "R9", "CX", "DX")
	g.function("fours"+b.name, b.foursDoc(), args, func() {
		g.quantSet("1", "Y15")
		for v := range 4 {
			g.zero(g.reg(v))
		}
		g.repeat("CX", func() {
			for t := range 8 {
				g.panelStep(b, t)
			}
			for v := range 4 {
				g.op("VPBROADCASTD %d(R9), Y10", 4*v)
				g.whole(b, g.reg(4+v), "Y10")
				g.op("VBROADCASTSS %d(R8), Y11", 4*v)
				g.op("VMULPS (SI), Y11, Y11")
				g.op("VFMADD231PS %s, Y11, %s", g.reg(4+v), g.reg(v))
			}
			g.op("ADDQ $%d, SI", panelBlock)
			g.op("ADDQ $128, BX")
			g.op("ADDQ $16, R8")
			g.op("ADDQ $16, R9")
		})
		for v := range 4 {
			g.op("VMOVUPS %s, (DI)", g.reg(v))
			g.op("LEAQ (DI)(DX*4), DI")
		}
	})
}

// panelStep multiplies vector t of a panel's block by the same four numbers of each vector.
func (g *gen) panelStep(b blocked, t int) {
	g.op("VMOVDQU %d(SI), Y8", 32+32*t)
	signed := b.name == "Q8" && g.name == avx2.name
	if signed {
		g.op("VPABSB Y8, Y9")
	}
	for v := range 4 {
		x, sum := g.reg(10+v), g.reg(4+v)
		to := x
		if t == 0 {
			to = sum
		}
		g.op("VPBROADCASTD %d(BX), %s", 32*v+4*t, x)
		switch {
		case g.name == vnni.name:
			if t == 0 {
				g.op("VPXOR %s, %[1]s, %[1]s", sum)
			}
			g.op("VPDPBUSD %s, Y8, %s", x, sum)
			continue
		case signed:
			g.op("VPSIGNB Y8, %s, %[1]s", x)
			g.op("VPMADDUBSW %s, Y9, %[1]s", x)
			g.op("VPMADDWD Y15, %s, %s", x, to)
		default:
			g.op("VPMADDUBSW %s, Y8, %s", x, to)
		}
		if t > 0 {
			g.op("VPADD%s %s, %s, %[3]s", map[bool]string{true: "D", false: "W"}[signed], x, sum)
		}
	}
}
