package main

import (
	"fmt"
	"go/format"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file translates every kernel to plain Go: each instruction of AVX-512 becomes a call of a function in
// simd/machine.go, so both compute the same bits. A general register becomes an integer. If it points into a slice, it
// counts bytes from the beginning of the slice, which is known wherever the register is used.

// translations holds the statement for an instruction with given kinds of operands: Z, Y and X are vectors, K is a
// mask, M memory, R an integer, P a parameter and I a constant. A vector is an address. Memory is an index expression
// without its end.
var translations = map[string]string{
	"VBROADCASTSS P Z": "splat(%[2]s, %[1]s)", "VBROADCASTSS M Z": "splat(%[2]s, %[1]s])",
	"VBROADCASTSS X Z": "splat(%[2]s, %[1]s.f32()[0])",
	"VPBROADCASTQ R Z": "splatWords(%[2]s, %[1]s)",
	"VMOVUPS Z Z":      "*%[2]s = *%[1]s", "VMOVAPS Z Z": "*%[2]s = *%[1]s",
	"VMOVUPS M Z": "load(%[2]s, %[1]s:])", "VMOVUPS Z M": "store(%[2]s:], %[1]s)",
	"VMOVUPS.Z M K Z": "loadMasked(%[3]s, %[2]s, %[1]s:])", "VMOVUPS Z K M": "storeMasked(%[3]s:], %[2]s, %[1]s)",
	"VMOVUPD M Z": "loadDoubles(%[2]s, %[1]s:])", "VMOVUPD Z M": "storeDoubles(%[2]s:], %[1]s)",
	"VMOVAPS.Z Z K Z": "only(%[3]s, %[2]s, %[1]s)", "VMOVAPS Z K Z": "merge(%[3]s, %[2]s, %[1]s)",
	"VMOVSS M X": "%[2]s.f32()[0] = %[1]s]", "VMOVSS X M": "%[2]s] = %[1]s.f32()[0]",
	"VMOVSS X P": "%[2]s = %[1]s.f32()[0]", "VMOVSD X P": "%[2]s = %[1]s.f64()[0]",
	"VADDPS Z Z Z": "add(%[3]s, %[2]s, %[1]s)", "VADDPS Y Y Y": "addLow(%[3]s, %[2]s, %[1]s, 8)",
	"VADDPS X X X": "addLow(%[3]s, %[2]s, %[1]s, 4)",
	"VADDSS X X X": "%[3]s.f32()[0] = %[2]s.f32()[0] + %[1]s.f32()[0]",
	"VADDSS P X X": "%[3]s.f32()[0] = %[2]s.f32()[0] + %[1]s",
	"VSUBPS Z Z Z": "sub(%[3]s, %[2]s, %[1]s)", "VSUBPS Z Z K Z": "sub(&t, %[2]s, %[1]s)\nmerge(%[4]s, %[3]s, &t)",
	"VMULPS Z Z Z":     "mul(%[3]s, %[2]s, %[1]s)",
	"VMULPS.Z Z Z K Z": "only(&t, %[3]s, %[2]s)\nmul(&t, &t, %[1]s)\nonly(%[4]s, %[3]s, &t)",
	"VMULSS X X X":     "%[3]s.f32()[0] = float32(%[2]s.f32()[0] * %[1]s.f32()[0])",
	"VMULSS M X X":     "%[3]s.f32()[0] = float32(%[2]s.f32()[0] * %[1]s])",
	"VDIVPS Z Z Z":     "div(%[3]s, %[2]s, %[1]s)", "VDIVSS X X X": "%[3]s.f32()[0] = %[2]s.f32()[0] / %[1]s.f32()[0]",
	"VSQRTPS Z Z": "sqrt(%[2]s, %[1]s)", "VSQRTSS X X X": "%[3]s.f32()[0] = root(%[1]s.f32()[0])",
	"VMINPS Z Z Z": "lower(%[3]s, %[2]s, %[1]s)", "VMAXPS Z Z Z": "higher(%[3]s, %[2]s, %[1]s)",
	"VMAXPS Y Y Y":        "higherLow(%[3]s, %[2]s, %[1]s, 8)",
	"VMAXPS X X X":        "higherLow(%[3]s, %[2]s, %[1]s, 4)",
	"VMAXSS X X X":        "%[3]s.f32()[0] = most(%[2]s.f32()[0], %[1]s.f32()[0])",
	"VFMADD213PS Z Z Z":   "mulAdd(%[3]s, %[2]s, %[3]s, %[1]s)",
	"VFMADD231PS Z Z Z":   "mulAdd(%[3]s, %[1]s, %[2]s, %[3]s)",
	"VFNMADD231PS Z Z Z":  "negMulAdd(%[3]s, %[1]s, %[2]s, %[3]s)",
	"VFNMADD231SS X X X":  "%[3]s.f32()[0] = fma.Float32(-%[1]s.f32()[0], %[2]s.f32()[0], %[3]s.f32()[0])",
	"VFMSUB213PS Z Z Z":   "mulSub(%[3]s, %[2]s, %[3]s, %[1]s)",
	"VFMSUB231PS Z Z Z":   "mulSub(%[3]s, %[1]s, %[2]s, %[3]s)",
	"VSCALEFPS Z Z Z":     "timesPower(%[3]s, every, %[2]s, %[1]s)",
	"VSCALEFPS.Z Z Z K Z": "timesPower(%[4]s, %[3]s, %[2]s, %[1]s)",
	"VCMPPS I Z Z K":      "%[4]s = compare(%[3]s, %[1]s, %[2]s)",
	"VBLENDMPS Z Z K Z":   "choose(%[4]s, %[3]s, %[1]s, %[2]s)",
	"VPTESTMD Z Z K":      "%[3]s = common(%[2]s, %[1]s)",
	"VPMOVD2M Z K":        "%[2]s = signs(%[1]s)",
	"VPCMPD I M Z K":      "%[4]s = otherBits(%[3]s, %[2]s:])",
	"VPCMPUQ I Z Z K":     "%[4]s = notBelow(%[3]s, %[2]s)",
	"KNOTW K K":           "%[2]s = ^%[1]s", "KUNPCKBW K K K": "%[3]s = %[2]s<<8 | %[1]s&0xff",
	"FIRST R K": "%[2]s = first(%[1]s)\nzero = %[2]s == 0",
	"KMOVW R K": "%[2]s = lanes(%[1]s)", "KMOVW K R": "%[2]s = int(%[1]s)",
	"VXORPS X X X": "*%[3]s = vector{}", "VPXORQ Z Z Z": "xor(%[3]s, %[2]s, %[1]s)",
	"VANDPS Z Z Z": "and(%[3]s, %[2]s, %[1]s)", "VORPS Z Z Z": "or(%[3]s, %[2]s, %[1]s)",
	"VPADDD Z Z Z": "addBits(%[3]s, %[2]s, %[1]s)", "VPSRLD I Z Z": "shiftBits(%[3]s, %[2]s, %[1]s)",
	"VPADDQ Z Z Z": "addWords(%[3]s, %[2]s, %[1]s)", "VPSRLQ I Z Z": "shiftWords(%[3]s, %[2]s, %[1]s)",
	"VPMULLQ Z Z Z": "mulWords(%[3]s, %[2]s, %[1]s)",
	"VCVTPS2PD Y Z": "widen(%[2]s, %[1]s)", "VCVTPD2PS Z Y": "narrow(%[2]s, %[1]s)",
	"VADDPD Z Z Z": "addDoubles(%[3]s, %[2]s, %[1]s)", "VADDPD Y Y Y": "addDoublesLow(%[3]s, %[2]s, %[1]s, 4)",
	"VADDPD X X X": "addDoublesLow(%[3]s, %[2]s, %[1]s, 2)",
	"VADDSD X X X": "%[3]s.f64()[0] = %[2]s.f64()[0] + %[1]s.f64()[0]",
	"VSUBPD Z Z Z": "subDoubles(%[3]s, %[2]s, %[1]s)", "VMULPD Z Z Z": "mulDoubles(%[3]s, %[2]s, %[1]s)",
	"VFMADD231PD Z Z Z":   "mulAddDoubles(%[3]s, %[1]s, %[2]s, %[3]s)",
	"VEXTRACTF64X4 I Z Y": "upper(%[3]s, %[2]s)", "VEXTRACTF128 I Y X": "upperFour(%[3]s, %[2]s)",
	"VINSERTF64X4 I Y Z Z": "join(%[4]s, %[3]s, %[2]s)",
	"VPERMILPS I X X":      "pick(%[3]s, %[2]s, 2, 3)", "VMOVSHDUP X X": "pick(%[2]s, %[1]s, 1, 1)",
	"VPERMILPD I X X": "pickDouble(%[3]s, %[2]s, 1)",

	"XORQ R R": "%[2]s = 0", "ADDQ I R": "%[2]s += %[1]s", "SUBQ I R": "%[2]s -= %[1]s", "SUBQ R R": "%[2]s -= %[1]s",
	"SHRQ I R": "%[2]s >>= %[1]s\nzero = %[2]s == 0", "ANDQ I R": "%[2]s &= %[1]s\nzero = %[2]s == 0",
	"DECQ R": "%[1]s--\nzero = %[1]s == 0", "MOVL I R": "%[2]s = %[1]s", "MOVQ I R": "%[2]s = %[1]s",
	"MOVQ P R": "%[2]s = %[1]s", "MOVQ R R": "%[2]s = %[1]s",
	"SHLL R R": "%[2]s <<= uint(%[1]s)", "DECL R": "%[1]s--", "LEAQ A R": "%[2]s = %[1]s",
	"TESTQ R R": "zero = %[1]s == 0", "TESTL R R": "zero = %[1]s == 0", "TESTQ I R": "zero = %[2]s&%[1]s == 0",
	"CMPL M I": "zero = math.Float32bits(%[1]s]) == %[2]s",
	"JMP L":    "goto %[1]s", "JZ L": "if zero {\ngoto %[1]s\n}", "JEQ L": "if zero {\ngoto %[1]s\n}",
	"JNZ L": "if !zero {\ngoto %[1]s\n}", "JNE L": "if !zero {\ngoto %[1]s\n}",
}

// predicates names the comparisons of VCMPPS in simd/machine.go.
var predicates = map[string]string{
	equal: "equal", less: "less", greater: "greater", atLeast: "atLeast", notEqual: "unequalOr",
	notLess: "notLessOr", notGreater: "notGreaterOr", notAtLeast: "notAtLeastOr",
}

// translation is the text of a kernel in plain Go, and what it declares.
type translation struct {
	kernel
	pool    *constants
	pointer map[string]string // the slice into which a register points
	words   map[string]string // the parameter of 64 bits that a register holds
	used    map[string]string // the variables and their types
	jumps   map[string]bool   // the labels
	text    strings.Builder
}

var (
	memory    = regexp.MustCompile(`^(-?\d*)\((\w+)\)(?:\((\w+)\*(\d)\))?$`)
	parameter = regexp.MustCompile(`^(\w+)\+\d+\(FP\)$`)
	pooled    = regexp.MustCompile(`^(ramp)?numbers\w+<>\+(\d+)\(SB\)$`)
	variables = regexp.MustCompile(`\*?&(z\d+|t)(\.f| =|\n|$)`) // vectors that are not arguments
	registers = regexp.MustCompile(`^([XYZK])(\d+)$`)
)

// plain writes all kernels in Go.
func plain() ([]byte, error) {
	pool := &constants{name: "numbersAVX512", width: bytes}
	var text, list strings.Builder
	text.WriteString("// Code generated by graph/internal/kernel/gen; DO NOT EDIT.\n\n" +
		"//lint:file-ignore SA4006 every instruction is translated, also the last one that moves a pointer\n\n" +
		"package simd\n\n" +
		"import (\n\"math\"\n\n\"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/fma\"\n)\n\n")
	for i, k := range kernels {
		params, _ := parameters(k.signature)
		f := written(k, fn{isa: avx512, plain: true, pool: pool, name: k.name, params: params})
		t := translation{kernel: k, pool: pool, pointer: map[string]string{}, words: map[string]string{},
			used: map[string]string{}, jumps: map[string]bool{}}
		lines := strings.Split(f.begin()+f.text.String(), "\n")
		for _, line := range lines {
			if fields := strings.Fields(line); len(fields) == 2 && strings.HasPrefix(fields[0], "J") {
				t.jumps[fields[1]] = true
			}
		}
		for _, line := range lines {
			if err := t.line(line); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", k.name, strings.TrimSpace(line), err)
			}
		}
		fmt.Fprintf(&text, "\nfunc %sGo%s {\n", k.name, k.signature)
		for _, kind := range []string{"vector", "lanes", "int", "bool"} {
			var names []string
			for _, name := range slices.Sorted(maps.Keys(t.used)) {
				if t.used[name] == kind {
					names = append(names, name)
				}
			}
			for line := range slices.Chunk(names, 12) {
				fmt.Fprintf(&text, "var %s %s\n", strings.Join(line, ", "), kind)
			}
		}
		text.WriteString(t.text.String())
		if strings.Contains(k.signature, ") (") {
			text.WriteString("return\n")
		}
		text.WriteString("}\n")
		separator := ", "
		if i%3 == 2 || i == len(kernels)-1 {
			separator = ",\n"
		}
		fmt.Fprintf(&list, "%s%s: %sGo%s", strings.ToUpper(k.name[:1]), k.name[1:], k.name, separator)
	}
	return format.Source([]byte(text.String() + "\nvar setGo = &Set{\n" + list.String() + "}\n"))
}

// line translates an instruction or a label.
func (t *translation) line(line string) error {
	line = strings.TrimSpace(line)
	if label, is := strings.CutSuffix(line, ":"); is {
		if t.jumps[label] {
			fmt.Fprintf(&t.text, "%s:\n", label)
		}
		return nil
	}
	op, rest, _ := strings.Cut(line, " ")
	if op == "" {
		return nil
	}
	operands := strings.Split(rest, ", ")
	last := operands[len(operands)-1]
	switch p := parameter.FindStringSubmatch(operands[0]); {
	case op == "VBROADCASTSD": // a constant
		t.constant(t.vector(last), operands[0])
		return nil
	case op == "MOVQ" && p != nil:
		t.argument(p[1], last)
		return nil
	case op == "TESTQ" && t.pointer[last] != "":
		t.put("zero", "bool")
		fmt.Fprintf(&t.text, "zero = %s == nil\n", t.pointer[last])
		return nil
	case op == "MOVQ" || op == "LEAQ":
		t.pointer[last] = t.pointer[base(operands[0])]
	case op == "VCMPPS" || op == "VCMPPS.BCST":
		operands[0] = predicates[operands[0]]
	}
	op = strings.TrimSuffix(op, ".BCST")
	key, args := op, []any{}
	for i, o := range operands {
		kind, text := t.operand(op, o, i == 0 && op == "LEAQ")
		key += " " + kind
		args = append(args, text)
	}
	form, known := translations[key]
	if !known {
		return fmt.Errorf("plain Go has no translation of %s", key)
	}
	if strings.Contains(form, "&t") {
		t.put("t", "vector")
	}
	if strings.Contains(form, "zero") {
		t.put("zero", "bool")
	}
	t.text.WriteString(variables.ReplaceAllString(fmt.Sprintf(form, args...), "$1$2") + "\n")
	return nil
}

// put declares a variable and returns it.
func (t *translation) put(name, kind string) string {
	t.used[name] = kind
	return name
}

func (t *translation) vector(register string) string { return "&" + t.put("z"+register[1:], "vector") }

func (t *translation) integer(register string) string {
	if register[0] == 'R' {
		return t.put("r"+register[1:], "int")
	}
	return t.put("r"+register, "int")
}

// base returns the register to which an operand belongs.
func base(operand string) string {
	if m := memory.FindStringSubmatch(operand); m != nil {
		return m[2]
	}
	return operand
}

// argument puts a parameter into a register.
func (t *translation) argument(name, register string) {
	t.pointer[register], t.words[register] = "", ""
	if slice, is := strings.CutSuffix(name, "_base"); is || name == "carry" || name == "c" {
		t.pointer[register] = slice
		fmt.Fprintf(&t.text, "%s = 0\n", t.integer(register))
		return
	}
	if slice, is := strings.CutSuffix(name, "_len"); is {
		fmt.Fprintf(&t.text, "%s = len(%s)\n", t.integer(register), slice)
		return
	}
	if strings.Contains(t.signature, "uint64") && slices.Contains([]string{"key", "at", "threshold"}, name) {
		t.words[register] = name
		return
	}
	fmt.Fprintf(&t.text, "%s = %s\n", t.integer(register), name)
}

// constant sets a vector to a constant from the pool.
func (t *translation) constant(vector, address string) {
	m := pooled.FindStringSubmatch(address)
	at, _ := strconv.Atoi(m[2])
	if m[1] != "" {
		t.put("t", "vector")
		t.text.WriteString("t = vector{\n")
		for i := range uint64(8) {
			fmt.Fprintf(&t.text, "%#x,%s", (uint64(at/8)+i)*t.pool.ramp, []string{" ", "\n"}[i%4/3])
		}
		t.text.WriteString("}\n")
		return
	}
	k := t.pool.list[at/t.pool.width]
	if uint32(k) == uint32(k>>32) {
		fmt.Fprintf(&t.text, "splatBits(%s, %#x)\n", vector, uint32(k))
	} else {
		fmt.Fprintf(&t.text, "splatWords(%s, %#x)\n", vector, uint64(k))
	}
}

// operand returns the kind and the text of an operand.
func (t *translation) operand(op, o string, address bool) (kind, text string) {
	if strings.HasPrefix(op, "J") {
		return "L", o
	}
	if m := registers.FindStringSubmatch(o); m != nil {
		if m[1] == "K" {
			return "K", t.put("k"+m[2], "lanes")
		}
		return m[1], t.vector(o)
	}
	if m := parameter.FindStringSubmatch(o); m != nil {
		return "P", m[1]
	}
	if pooled.MatchString(o) {
		t.constant("&"+t.put("t", "vector"), o)
		return "Z", "&t"
	}
	if value, is := strings.CutPrefix(o, "$"); is {
		return "I", value
	}
	m := memory.FindStringSubmatch(o)
	switch {
	case m == nil && t.words[o] != "":
		return "R", t.words[o]
	case m == nil && op != "VCMPPS":
		return "R", t.integer(o)
	case m == nil:
		return "I", o // a predicate
	}
	sum := t.integer(m[2])
	if m[3] != "" && m[4] != "1" {
		sum += " + " + m[4] + "*" + t.integer(m[3])
	} else if m[3] != "" {
		sum += " + " + t.integer(m[3])
	}
	if m[1] != "" && m[1] != "0" {
		sum += " + " + m[1]
	}
	if address {
		return "A", sum
	}
	size := "2"
	if strings.Contains(t.signature, t.pointer[m[2]]+" *[128]float64") {
		size = "3"
	}
	return "M", fmt.Sprintf("%s[(%s)>>%s", t.pointer[m[2]], sum, size)
}
