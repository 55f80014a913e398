package main

import (
	"fmt"
	"strings"
)

// bf16 is AVX-512 with the instructions of bfloat16: a lane of a product's operands is a pair of numbers.
var bf16 = isa{"BF16", "amd64", "MOVQ", "Z", 16, 32, []int{12, 4, 1}, "K1"}

// evex returns the bytes of an instruction on three full registers in map 0F38 that Go's assembler does not support.
// prefix is 2 for F3 and 3 for F2. Registers are given by number; Go's order is rm, v, reg.
func evex(prefix, opcode, rm, v, reg int) string {
	not := func(x, bit, at int) int { return (^x >> bit & 1) << at }
	p1 := not(reg, 3, 7) | not(rm, 4, 6) | not(rm, 3, 5) | not(reg, 4, 4) | 2
	p2 := (^v&15)<<3 | 4 | prefix
	p3 := 2<<5 | not(v, 4, 3)
	modrm := 0xc0 | reg&7<<3 | rm&7
	return fmt.Sprintf("LONG $%#08x; WORD $%#04x", p3<<24|p2<<16|p1<<8|0x62, modrm<<8|opcode)
}

// dotPairs returns VDPBF16PS: it adds to every lane of sum the product of the pairs' second, higher numbers, then that
// of the first ones. Each sum is rounded once.
func dotPairs(x, y, sum int) string { return evex(2, 0x52, x, y, sum) }

// roundPairs returns VCVTNE2PS2BF16: it rounds the numbers of low, then of high, to bfloat16, as the words of to.
func roundPairs(low, high, to int) string { return evex(3, 0x72, low, high, to) }

// panelStride is the distance in bytes between the rows of packed pairs, as in gemm's panels.
const panelStride = 4 * 96

// productBF16 writes the product by VDPBF16PS. The tiles treat a matrix of pairs as one of float32.
func productBF16(out map[string]string, stubs *strings.Builder) {
	g := &gen{isa: bf16, stubs: stubs}
	g.line(header(bf16) + "#include \"textflag.h\"")
	args := []arg{
		{"c", "DI"}, {"ldc", "R11"}, {"a", ""}, {"lda", "DX"}, {"b", ""}, {"ldb", "R13"}, {"d", ""}, {"ldd", ""},
		{"k", ""}, {"m", "R12"}, {"n", "CX"}, {"alpha", ""},
	}
	g.function("cols", "Like cols for k pairs of numbers, by VDPBF16PS.", args, func() { g.tiles(true) })
	g.pairRows()
	g.pairColumns()
	out["gemm/gemm_bf16_amd64.s"] = g.text.String()
}

// pairRows packs rows two by two. The first row is the upper half of a pair, because it is multiplied first.
func (g *gen) pairRows() {
	for i := range 16 {
		g.line("DATA interleave<>+%d(SB)/4, $%#x", 4*i, 16<<16+i*0x10001)
	}
	g.line("GLOBL interleave<>(SB), RODATA|NOPTR, $64")
	args := []arg{{"dst", "DI"}, {"src", "SI"}, {"ld", "DX"}, {"k", "R9"}, {"n", "R8"}}
	doc := "k rows of n numbers, ld apart → rows of n pairs of numbers rounded to bfloat16. " +
		"An odd last row is paired with 0."
	g.function("pairRows", doc, args, func() {
		g.inBytes("DX")
		g.op("VMOVUPS interleave<>(SB), Z31")
		g.op("MOVQ R8, CX")
		g.op("ANDQ $15, CX")
		g.maskRegister()
		g.op("KMOVW K1, K2")
		g.op("KXNORW K3, K3, K3")
		g.op("SHRQ $4, R8")
		g.repeat("R9", func() {
			g.op("CMPQ R9, $1")
			g.op("JGT both")
			g.op("KXORW K2, K2, K2") // there is no second row
			g.op("KXORW K3, K3, K3")
			g.line("both:")
			for _, r := range [][2]string{{"SI", "AX"}, {"DI", "R10"}, {"R8", "R11"}} {
				g.op("MOVQ %s, %s", r[0], r[1])
			}
			g.op("LEAQ (SI)(DX*1), BX")
			g.op("TESTQ R11, R11")
			g.op("JEQ tail")
			g.line("vector:")
			g.pairVector("VMOVUPS (AX), Z0", "K3")
			for _, r := range []string{"AX", "BX", "R10"} {
				g.op("ADDQ $64, %s", r)
			}
			g.op("DECQ R11")
			g.op("JGT vector")
			g.line("tail:")
			g.op("TESTQ CX, CX")
			g.op("JEQ next")
			g.pairVector("VMOVUPS.Z (AX), K1, Z0", "K2")
			g.line("next:")
			g.op("LEAQ (SI)(DX*2), SI")
			g.op("ADDQ $%d, DI", panelStride)
			g.op("DECQ R9")
		})
	})
}

// pairVector packs 16 pairs from the first row, loaded by the given instruction, and from the second row, up to the
// mask. It prefetches the data 8 rows below: a row ends after a few lines, too soon for the processor to prefetch.
func (g *gen) pairVector(first, second string) {
	g.op("%s", first)
	g.op("VMOVUPS.Z (BX), %s, Z1", second)
	g.op("PREFETCHT0 (AX)(DX*8)")
	g.op("PREFETCHT0 (BX)(DX*8)")
	g.op("%s", roundPairs(1, 0, 2))
	g.op("VPERMW Z2, Z31, Z2")
	g.op("VMOVUPS Z2, (R10)")
}

// pairColumns packs adjacent numbers of a row as pairs, and transposes them, 32 numbers at a time. It prefetches the
// next 32 of every row, because the processor cannot prefetch for 16 rows at once.
func (g *gen) pairColumns() {
	args := []arg{{"dst", "DI"}, {"src", "SI"}, {"ld", "DX"}, {"k", "CX"}, {"n", "R8"}}
	doc := "n ≤ 16 rows of k numbers, ld apart → rows of 16 pairs of numbers rounded to bfloat16. " +
		"An odd end is paired with 0."
	g.function("pairColumns", doc, args, func() {
		g.inBytes("DX")
		g.op("XORQ R11, R11")
		g.repeat("CX", func() {
			g.op("MOVQ $32, AX")
			g.op("CMPQ CX, AX")
			g.op("CMOVQLT CX, AX")
			g.op("MOVL $-1, BX")
			g.op("BZHIL AX, BX, BX")
			g.op("KMOVW BX, K1")
			g.op("SHRL $16, BX")
			g.op("KMOVW BX, K2")
			for _, r := range [][2]string{{"SI", "AX"}, {"DX", "R9"}, {"R8", "R10"}} {
				g.op("MOVQ %s, %s", r[0], r[1])
			}
			for row := range g.lanes {
				g.op("VMOVUPS.Z (AX), K1, Z30")
				g.op("VMOVUPS.Z 64(AX), K2, Z31")
				g.op("PREFETCHT0 128(AX)")
				g.op("PREFETCHT0 192(AX)")
				g.op("%s", roundPairs(30, 31, row))
				g.op("VPROLD $16, Z%d, Z%[1]d", row)
				g.op("DECQ R10")
				g.op("CMOVQEQ R11, R9") // after the last row, that row again
				g.op("ADDQ R9, AX")
			}
			g.transposeSquare(panelStride)
			g.op("ADDQ $128, SI")
			g.op("ADDQ $%d, DI", g.lanes*panelStride)
			g.op("SUBQ $31, CX")
		})
	})
}
