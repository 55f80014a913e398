package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// products returns the files of the matrix product, by name.
//
// A kernel holds a tile of c in registers, rows × (columns vectors), and runs over k once: per step it loads one row of
// b's strip, broadcasts one number of each row of a, and adds their products. The tile's height is the largest for
// which the accumulators, the row of b and some broadcasts fit the register file.
func products() map[string]string {
	out, stubs := map[string]string{}, newStubs(avx2)
	for _, s := range []isa{avx512, avx2} {
		g := &gen{isa: s, stubs: stubs}
		g.line(header(s) + "#include \"textflag.h\"")
		if s.mask == "" {
			g.maskTable()
		}
		g.product()
		g.roundingTable()
		g.row(false)
		g.row(true)
		g.roundCopies()
		g.dots()
		g.copyStrip()
		g.transposeStrip()
		g.packed()
		g.peak()
		out["gemm/gemm_"+strings.ToLower(s.name)+"_amd64.s"] = g.text.String()
	}
	productBF16(out, stubs)
	out["gemm/gemm_stubs_amd64.go"] = stubs.String()
	neonProducts(out)
	quants(out)
	return out
}

// newStubs begins a file of declarations.
func newStubs(s isa) *strings.Builder {
	stubs := &strings.Builder{}
	stubs.WriteString(header(s) + "package gemm\n")
	return stubs
}

type gen struct {
	isa
	text  strings.Builder
	stubs *strings.Builder
	args  map[string]string // the address of each argument of the function
}

func (g *gen) line(format string, args ...any) { fmt.Fprintf(&g.text, format+"\n", args...) }

// op writes an instruction.
func (g *gen) op(format string, args ...any) { g.line("\t"+format, args...) }

// arg is an argument: a pointer to numbers, an int, or the float32 alpha. If register is not "", it is loaded there.
type arg struct{ name, register string }

// function writes a function and its declaration.
func (g *gen) function(name, doc string, args []arg, body func()) {
	g.args = map[string]string{}
	var signature []string
	at, load := 0, ""
	for _, a := range args {
		kind, size := "int", 8
		switch a.name {
		case "alpha":
			kind, size = "float32", 4
		case "a", "b", "c", "d", "dst", "src", "scale", "y":
			kind = "*float32"
		case "half":
			kind = "*uint16"
		case "eighth", "x":
			kind = "*int8"
		case "w", "panel":
			kind = "*byte"
		case "offset":
			kind = "*int32"
		}
		signature = append(signature, a.name+" "+kind)
		g.args[a.name] = fmt.Sprintf("%s+%d(FP)", a.name, at)
		if at += size; a.register != "" {
			load += fmt.Sprintf("\t%s %s, %s\n", g.move, g.args[a.name], a.register)
		}
	}
	declaration := fmt.Sprintf("func %s%s(%s)", name, g.name, strings.Join(signature, ", "))
	g.stubs.WriteString("\n")
	if g.name != avx2.name { // AVX2 has the same functions as AVX-512
		writeComment(g.stubs, doc)
		g.stubs.WriteString("//\n")
	}
	stub := declaration
	if half := len(signature) / 2; len(stub) > lineMost {
		stub = fmt.Sprintf("func %s%s(\n\t%s,\n\t%s)", name, g.name,
			strings.Join(signature[:half], ", "), strings.Join(signature[half:], ", "))
	}
	fmt.Fprintf(g.stubs, "//go:noescape\n%s\n", stub)
	g.line("\n// %s\nTEXT ·%s%s(SB), NOSPLIT, $0-%d\n%s", declaration, name, g.name, at, strings.TrimSuffix(load, "\n"))
	body()
	if g.arch == "amd64" {
		g.op("VZEROUPPER")
	}
	g.op("RET")
}

// lineMost is the largest number of columns in a line.
const lineMost = 120

// writeComment writes the lines of a comment.
func writeComment(to *strings.Builder, text string) {
	line := "//"
	for word := range strings.FieldsSeq(text) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > lineMost {
			to.WriteString(line + "\n")
			line = "//"
		}
		line += " " + word
	}
	to.WriteString(line + "\n")
}

// repeat writes a loop that runs the number of times given by a register, if that is above 0.
func (g *gen) repeat(register string, body func()) {
	g.op("TESTQ %s, %[1]s", register)
	g.op("JLE done")
	g.line("loop:")
	body()
	g.op("DECQ %s", register)
	g.op("JGT loop")
	g.line("done:")
}

func (g *gen) inBytes(registers ...string) {
	for _, r := range registers {
		g.op("SHLQ $2, %s", r)
	}
}

func (g *gen) reg(i int) string { return fmt.Sprint(g.letter, i) }

func (g *gen) bytes() int { return 4 * g.lanes }

func (g *gen) zero(register string) {
	g.op("%s %s, %[2]s, %[2]s", map[string]string{"Z": "VPXORD", "Y": "VXORPS"}[g.letter], register)
}

// maskTable writes 16 times −1 and 16 times 0. Loaded from the right place, it is a mask of any length.
func (g *gen) maskTable() {
	for i := range 32 {
		g.line("DATA mask%s<>+%d(SB)/4, $%d", g.name, 4*i, -(1 - i/16))
	}
	g.line("GLOBL mask%s<>(SB), RODATA|NOPTR, $128", g.name)
}

// maskRegister sets the lowest CX bits of the mask register.
func (g *gen) maskRegister() {
	g.op("MOVL $1, AX")
	g.op("SHLL CX, AX")
	g.op("DECL AX")
	g.op("KMOVW AX, %s", g.mask)
}
