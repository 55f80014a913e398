package main

import (
	"fmt"
	"strconv"
	"strings"
)

// The kernels are described in AVX's instructions; here is what each is in NEON's. A block of 16 numbers is four
// registers. What NEON does not have is put together: a load or store of some lanes, one number for all lanes from
// memory, a sum in the place of a factor.

// Registers of a NEON kernel beside its own, which are R0 … R9 and, from V0 up, vectors, from V29 down, constants. R18,
// which is the system's, and R26 … R30 are left alone.
const (
	partIndex  = 10 // R10 … R13: where the parts of the present block lie, in bytes
	blocksLeft = 14 // to be done; in the last block, lanes from the present part on
	anything   = 15
	laneIndex  = 18 // R19 … R21: where lanes 1 … 3 of the last block's present part lie, in bytes
	address    = 22
	numbers    = 23 // where the constants lie
	neonMask   = 30 // a vector, of the lanes of the present part that count
	spareVec   = 31 // a vector, within one of the description's instructions
)

// neonVectors is AVX's instructions of the form "second, first, result".
var neonVectors = map[string]string{
	"VADDPS": "fadd", "VSUBPS": "fsub", "VMULPS": "fmul", "VDIVPS": "fdiv", "VMAXPS": "fmax", "VMINPS": "fmin",
	"VFMADD231PS": "fmla", "VFNMADD231PS": "fmls", "VANDPS": "and", "VPXOR": "eor", "VXORPS": "eor", "VPADDD": "add", "VPSUBD": "sub",
	"VPADDQ": "add 2d", "VADDPD": "fadd 2d", "VFMADD231PD": "fmla 2d", "VPCMPGTQ": "cmgt",
}

var neonScalars = map[string]string{"VADDSS": "FADDS", "VSUBSS": "FSUBS", "VMULSS": "FMULS", "VDIVSS": "FDIVS", "VMAXSS": "FMAXS"}

var neonShifts = map[string]struct {
	name string
	size int
}{"VPSRAD": {"sshr", 4}, "VPSLLD": {"shl", 4}, "VPSRLQ": {"ushr", 8}, "VPSLLQ": {"shl", 8}}

var neonGeneral = map[string]string{
	"MOVQ": "MOVD", "ADDQ": "ADD", "SUBQ": "SUB", "JZ": "BEQ", "JEQ": "BEQ", "JNZ": "BNE", "JNE": "BNE", "JMP": "B",
}

// neon writes an instruction of the description.
func (f *fn) neon(name string, operands []any) {
	vector := func(i int) int { return f.neonOperand(operands[i]) }
	if own, ok := neonVectors[name]; ok {
		f.word(own, vector(2), vector(1), vector(0))
		return
	}
	if own, ok := neonScalars[name]; ok {
		f.write("%s F%d, F%d, F%d", own, vector(0), vector(1), vector(2))
		return
	}
	if own, ok := neonShifts[name]; ok {
		n, _ := strconv.Atoi(operands[0].(string)[1:])
		f.text.WriteString(shift(own.name, vector(2), vector(1), n, own.size))
		return
	}
	if own, ok := neonGeneral[name]; ok {
		var list []string
		for _, o := range operands {
			list = append(list, fmt.Sprint(o))
		}
		f.write("%s %s", own, strings.Join(list, ", "))
		return
	}
	switch name {
	case "VANDNPS":
		f.word("bic", vector(2), vector(0), vector(1))
	case "VMOVAPS":
		f.copyVector(vector(1), vector(0))
	case "VSQRTPS":
		f.word("fsqrt", vector(1), vector(0))
	case "VFMSUB231PS":
		f.word("fneg", vector(2), vector(2))
		f.word("fmla", vector(2), vector(1), vector(0))
	case "VFMADD213PS":
		f.copyVector(spareVec, vector(0))
		f.word("fmla", spareVec, vector(1), vector(2))
		f.copyVector(vector(2), spareVec)
	case "VFMSUB213PS":
		f.word("fneg", spareVec, vector(0))
		f.word("fmla", spareVec, vector(1), vector(2))
		f.copyVector(vector(2), spareVec)
	case "VCMPPS":
		if operands[0] == less {
			f.word("fcmgt", vector(3), vector(1), vector(2))
			return
		}
		f.word(map[any]string{equal: "fcmeq", greater: "fcmgt", atLeast: "fcmge"}[operands[0]], vector(3), vector(2), vector(1))
	case "VBLENDVPS":
		f.blend(vector(3), vector(2), vector(1), vector(0))
	case "VSHUFPS": // in the one order of the description
		f.word("uzp1", vector(3), vector(2), vector(1))
	case "VBROADCASTSS":
		f.write("VDUP V%d.S[0], V%d.S4", vector(0), vector(1))
	case "VPBROADCASTQ":
		f.write("VDUP V%d.D[0], V%d.D2", vector(0), vector(1))
	case "VMOVQ":
		f.write("FMOVD %s, F%d", operands[0], vector(1))
	case "VSQRTSS":
		f.write("FSQRTS F%d, F%d", vector(0), vector(2))
	case "VFNMADD231SS":
		f.write("FMSUBS F%d, F%d, F%d, F%d", vector(0), vector(2), vector(1), vector(2))
	case "VMOVSS", "VMOVSD":
		own := map[string]string{"VMOVSS": "FMOVS", "VMOVSD": "FMOVD"}[name]
		if from, isLow := lowVector(operands[0]); isLow {
			f.write("%s F%d, %s", own, from, operands[1])
		} else {
			f.write("%s %s, F%d", own, operands[0], vector(1))
		}
	default:
		f.neonPointers(name, operands)
	}
}

// neonPointers writes an instruction of general registers that is none of NEON's by another name.
func (f *fn) neonPointers(name string, operands []any) {
	switch name {
	case "DECQ":
		f.write("SUBS $1, %s", operands[0])
	case "TESTQ":
		if operands[0] == operands[1] {
			f.write("CMP $0, %s", operands[0])
		} else {
			f.write("TST %s, %s", operands...)
		}
	case "LEAQ":
		f.place(operands[0].(string), operands[1].(string))
	case "CMPL":
		f.place(operands[0].(string), fmt.Sprint("R", address))
		f.write("MOVWU (R%d), R%d", address, anything)
		f.write("MOVD %s, R%d", operands[1], address)
		f.write("CMPW R%d, R%d", address, anything)
	default:
		panic(fmt.Sprintf("%s: NEON has nothing for %s %v", f.name, name, operands))
	}
}

// place makes to the address that is written as offset(base) or offset(base)(index*4).
func (f *fn) place(written, to string) {
	offset, registers, _ := strings.Cut(strings.TrimSuffix(written, ")"), "(")
	base, index, scaled := strings.Cut(registers, ")(")
	if scaled {
		f.write("ADD %s<<2, %s, %s", strings.TrimSuffix(index, "*4"), base, to)
		base = to
	}
	if n, _ := strconv.Atoi(offset); n != 0 {
		f.write("ADD $%d, %s, %s", n, base, to)
	}
}

func (f *fn) write(format string, args ...any) { fmt.Fprintf(&f.text, "\t"+format+"\n", args...) }

func (f *fn) word(name string, registers ...int) { f.text.WriteString(instruction(name, registers...)) }

func (f *fn) copyVector(to, from int) {
	if to != from {
		f.word("orr", to, from, from)
	}
}

// blend makes d = b where the mask's sign is set, else a.
func (f *fn) blend(d, a, b, mask int) {
	f.word("cmlt", spareVec, mask)
	if d == b {
		f.word("bif", d, a, spareVec)
		return
	}
	f.copyVector(d, a)
	f.word("bit", d, b, spareVec)
}

// neonBegin is begin.
func (f *fn) neonBegin() string {
	text := fmt.Sprintf("\tMOVD $%s<>(SB), R%d\n", f.pool.name, numbers)
	for i, c := range f.held {
		text += fmt.Sprintf("\tFMOVQ %s, F%d\n", f.pool.near(c), f.top-i)
	}
	return text
}

// neonSet is set.
func (f *fn) neonSet(to int, c constant) {
	if register, held := f.hold(c); held {
		f.copyVector(to, register)
	} else {
		f.write("FMOVQ %s, F%d", f.pool.near(c), to)
	}
}

// general is the number of a general register.
func general(register string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(register, "R"))
	if err != nil {
		panic(register + " is no general register of arm64")
	}
	return n
}

// lowVector is the register of which an operand is the low part.
func lowVector(operand any) (register int, is bool) {
	text, _ := operand.(string)
	register, err := strconv.Atoi(strings.TrimPrefix(text, "X"))
	return register, err == nil
}

// neonOperand is the number of the vector register that an operand is, or that it is loaded into.
func (f *fn) neonOperand(operand any) int {
	switch o := operand.(type) {
	case vec:
		return o[f.part]
	case constant:
		if register, held := f.hold(o); held {
			return register
		}
		f.write("FMOVQ %s, F%d", f.pool.near(o), spareVec)
	case string:
		if register, is := lowVector(o); is {
			return register
		}
		if symbol, isTable := strings.CutSuffix(o, "(SB)"); isTable {
			f.write("MOVD $%s(SB), R%d", symbol, address)
			f.write("FMOVQ (R%d), F%d", address, spareVec)
		} else {
			f.write("FMOVS %s, F%d", o, spareVec)
		}
	}
	return spareVec
}
