package main

import (
	"fmt"
	"strconv"
	"strings"
)

// The kernels are described in AVX's instructions, which this file translates to NEON's. A block of 16 numbers is four
// registers. Operations that NEON lacks are composed of several: a load or store of some lanes, a broadcast from
// memory, a sum in the place of a factor.

// Registers of a NEON kernel other than its own. Its own are R0 … R9 and, from V0 up, vectors, from V29 down,
// constants. R18, which belongs to the system, and R26 … R30 are not used.
const (
	partIndex  = 10 // R10 … R13: offsets of the parts of the present block, in bytes
	blocksLeft = 14 // number of blocks left; in the last block, lanes left from the present part on
	anything   = 15
	laneIndex  = 18 // R19 … R21: offsets of lanes 1 … 3 of the last block's present part, in bytes
	address    = 22
	numbers    = 23 // address of the constants
	neonMask   = 30 // vector mask of the lanes of the present part before the end
	spareVec   = 31 // scratch vector, within one of the description's instructions
)

// neonVectors maps AVX's instructions of the form "second, first, result" to NEON's.
var neonVectors = map[string]string{
	"VADDPS": "fadd", "VSUBPS": "fsub", "VMULPS": "fmul", "VDIVPS": "fdiv", "VMAXPS": "fmax", "VMINPS": "fmin",
	"VFMADD231PS": "fmla", "VFNMADD231PS": "fmls", "VANDPS": "and", "VPXOR": "eor", "VXORPS": "eor", "VORPS": "orr",
	"VPADDD": "add", "VPSUBD": "sub",
	"VPADDQ": "add 2d", "VADDPD": "fadd 2d", "VSUBPD": "fsub 2d", "VMULPD": "fmul 2d", "VFMADD231PD": "fmla 2d",
	"VPCMPGTQ": "cmgt",
}

var neonScalars = map[string]string{
	"VADDSS": "FADDS", "VSUBSS": "FSUBS", "VMULSS": "FMULS", "VDIVSS": "FDIVS", "VMAXSS": "FMAXS",
}

var neonShifts = map[string]struct {
	name string
	size int
}{"VPSRAD": {"sshr", 4}, "VPSLLD": {"shl", 4}, "VPSRLD": {"ushr", 4}, "VPSRLQ": {"ushr", 8}, "VPSLLQ": {"shl", 8}}

var neonGeneral = map[string]string{
	"MOVQ": "MOVD", "ADDQ": "ADD", "SUBQ": "SUB", "JZ": "BEQ", "JEQ": "BEQ", "JNZ": "BNE", "JNE": "BNE", "JMP": "B",
}

// neon writes an instruction of the description in NEON's instructions.
func (f *fn) neon(name string, operands []any) {
	f.spared = false
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
		f.spared = true
		f.word("fmla", spareVec, vector(1), vector(2))
		f.copyVector(vector(2), spareVec)
	case "VFMSUB213PS":
		f.word("fneg", spareVec, vector(0))
		f.spared = true
		f.word("fmla", spareVec, vector(1), vector(2))
		f.copyVector(vector(2), spareVec)
	case "VCMPPS":
		if operands[0] == less {
			f.word("fcmgt", vector(3), vector(1), vector(2))
			return
		}
		own := map[any]string{equal: "fcmeq", greater: "fcmgt", atLeast: "fcmge"}[operands[0]]
		f.word(own, vector(3), vector(2), vector(1))
	case "VBLENDVPS":
		f.blend(vector(3), vector(2), vector(1), vector(0))
	case "VSHUFPS": // only in the order that the description uses
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

// neonPointers writes an instruction of general registers that NEON does not have under another name.
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
		panic(fmt.Sprintf("%s: NEON has no equivalent of %s %v", f.name, name, operands))
	}
}
