package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// isa is an instruction set. A block of 16 numbers is one register with AVX-512, two with AVX2 and four with NEON.
type isa struct {
	name    string
	arch    string
	move    string // instruction that moves 8 bytes
	letter  string // prefix of the vector registers
	lanes   int    // numbers in a vector register
	count   int    // number of vector registers
	heights []int  // of a product's tiles, the largest first; the last is 1
	mask    string // mask register for the last column vector of a product; "" if there are no mask registers
}

var (
	avx512 = isa{"AVX512", "amd64", "MOVQ", "Z", 16, 32, []int{12, 8, 4, 2, 1}, "K1"}
	avx2   = isa{"AVX2", "amd64", "MOVQ", "Y", 8, 16, []int{6, 4, 2, 1}, ""}
	neon   = isa{"NEON", "arm64", "MOVD", "V", 4, 32, []int{12, 8, 4, 2, 1}, ""}
)

const (
	block    = 16 // numbers that are processed together, and partial results of a reduction
	tailMask = 15 // with AVX2, the register that masks the lanes of a tail; with AVX-512, K1 does
	bytes    = 4  // size of a number
)

// vec is a vector register: one for each part of a block if it lives from block to block, otherwise one for all parts.
type vec [4]int

// all returns the first part's register for every part: a value that is the same in all lanes.
func (v vec) all() vec { return vec{v[0], v[0], v[0], v[0]} }

// constant is the bits of a constant in all lanes, repeated if it is 32 bits wide.
type constant uint64

func pair(bits uint32) constant { return constant(bits)<<32 | constant(bits) }

func number(x float64) constant { return pair(math.Float32bits(float32(x))) }

// fn is a function under construction.
type fn struct {
	isa
	pool    *constants
	name    string
	params  []param
	text    strings.Builder
	vectors int        // vector registers in use
	general int        // general registers in use
	held    []constant // the constants in the highest registers, from top down
	top     int
	spare   int // number of registers for constants: none for AVX2
	labels  int
	part    int  // the current part of the block
	spared  bool // NEON's spare register holds an operand of the current instruction
	tail    bool // in the last, incomplete block
	plain   bool // for plain Go, where a loop over blocks has one body, with a mask
}

func (f *fn) wide() bool { return f.lanes == block }

// scratch returns a register for use within a part of a block, or for a value that is the same in all lanes.
func (f *fn) scratch() vec {
	f.vectors++
	if f.vectors > neonMask || f.vectors > tailMask && f.arch == "amd64" {
		panic(f.name + ": out of vector registers")
	}
	n := f.vectors - 1
	return vec{n, n, n, n}
}

// scratches returns n scratch registers.
func (f *fn) scratches(n int) (v []vec) {
	for range n {
		v = append(v, f.scratch())
	}
	return v
}

// saved returns a register for all lanes of a block, for use from block to block.
func (f *fn) saved() vec {
	v := f.scratch()
	for part := 1; part < block/f.lanes; part++ {
		v[part] = f.scratch()[0]
	}
	return v
}

// pointer loads a parameter into the first free general register.
func (f *fn) pointer(name string) string {
	r := f.register()
	f.op("MOVQ", f.param(name), r)
	return r
}

// register returns a free general register. AX, CX and R12 belong to the loops over blocks.
func (f *fn) register() string {
	f.general++
	if f.arch == "arm64" {
		return fmt.Sprint("R", f.general-1)
	}
	return []string{"DI", "SI", "DX", "BX", "R8", "R9", "R10", "R11", "R13", "R15"}[f.general-1]
}

// op writes an instruction with its operands in Go's order: the result comes last.
func (f *fn) op(name string, operands ...any) {
	if f.arch == "arm64" {
		f.neon(name, operands)
		return
	}
	var list []string
	for _, o := range operands {
		switch o := o.(type) {
		case vec:
			list = append(list, f.letter+fmt.Sprint(o[f.part]))
		case constant:
			text, suffix := f.constant(o)
			list = append(list, text)
			name += suffix
		default:
			list = append(list, fmt.Sprint(o))
		}
	}
	fmt.Fprintf(&f.text, "\t%s %s\n", name, strings.Join(list, ", "))
}

// constant returns the operand for a constant: a register, or memory that AVX-512 broadcasts to the lanes itself.
func (f *fn) constant(c constant) (operand, suffix string) {
	if register, held := f.hold(c); held {
		return f.letter + fmt.Sprint(register), ""
	}
	if !f.wide() {
		return f.pool.address(c), ""
	}
	return f.pool.address(c), ".BCST"
}

// hold returns the register that holds a constant. held is false if no register is left for it.
func (f *fn) hold(c constant) (register int, held bool) {
	at := slices.Index(f.held, c)
	if at < 0 && len(f.held) < f.spare {
		f.held, at = append(f.held, c), len(f.held)
	}
	return f.top - at, at >= 0
}

// written returns a kernel's function. NEON holds constants in the registers that the body leaves free. The body is
// therefore written twice: first to count the registers.
func written(k kernel, f fn) *fn {
	switch first := f; {
	case f.wide():
		f.top, f.spare = f.count-1, block
	case f.arch == "arm64":
		k.body(&first)
		f.top, f.spare = neonMask-1, neonMask-first.vectors
	}
	k.body(&f)
	return &f
}

// begin returns the text before the body: it loads the constants that are held in registers.
func (f *fn) begin() string {
	if f.arch == "arm64" {
		return f.neonBegin()
	}
	text := ""
	for i, c := range f.held {
		text += fmt.Sprintf("\tVBROADCASTSD %s, Z%d\n", f.pool.address(c), f.top-i)
	}
	return text
}

// set puts a constant into a register.
func (f *fn) set(v vec, c constant) {
	if c == 0 {
		f.op("VXORPS", f.low("X", v), f.low("X", v), f.low("X", v))
		return
	}
	if f.arch == "arm64" {
		f.neonSet(v[f.part], c)
		return
	}
	if text, suffix := f.constant(c); suffix == "" {
		f.op("VMOVUPS", text, v)
	} else {
		f.op("VBROADCASTSD", text, v)
	}
}

// inRegister returns a register that holds a constant. It sets spare if no other register does.
func (f *fn) inRegister(c constant, spare vec) any {
	if register, held := f.hold(c); held {
		return vec{register}.all()
	}
	f.set(spare, c)
	return spare
}

// low returns the name of the low part of a register, which has another letter.
func (f *fn) low(letter string, v vec) string { return letter + fmt.Sprint(v[f.part]) }

func (f *fn) label(name string) string {
	f.labels++
	return fmt.Sprintf("%s%d", name, f.labels)
}

func (f *fn) mark(label string) { fmt.Fprintf(&f.text, "%s:\n", label) }
