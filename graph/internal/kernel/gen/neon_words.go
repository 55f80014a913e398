package main

import "fmt"

// The vector instructions of arm64, as words: for float32 numbers, Go's assembler supports only VFMLA and VFMLS. A
// comment gives each instruction as in Arm's manual.

// word is an instruction of up to three vector registers: its bits without their numbers, and the shapes of the
// registers in the manual's order, the result first.
type word struct {
	bits   uint32
	shapes []string
}

var (
	of4s = []string{"4s", "4s", "4s"}
	of2d = []string{"2d", "2d", "2d"}
	ofB  = []string{"16b", "16b", "16b"}
)

var words = map[string]word{
	"fadd": {0x4e20d400, of4s}, "fsub": {0x4ea0d400, of4s}, "fmul": {0x6e20dc00, of4s}, "fdiv": {0x6e20fc00, of4s},
	"fmax": {0x4e20f400, of4s}, "fmin": {0x4ea0f400, of4s}, "faddp": {0x6e20d400, of4s},
	"fmla": {0x4e20cc00, of4s}, "fmls": {0x4ea0cc00, of4s}, "fcmgt": {0x6ea0e400, of4s}, "fcmeq": {0x4e20e400, of4s},
	"fcmge": {0x6e20e400, of4s},
	"fsqrt": {0x6ea1f800, of4s[:2]}, "fneg": {0x6ea0f800, of4s[:2]}, "cmlt": {0x4ea0a800, of4s[:2]},
	"add": {0x4ea08400, of4s}, "sub": {0x6ea08400, of4s}, "mul": {0x4ea09c00, of4s},
	"uminv": {0x6eb1a800, []string{"s", "4s"}},
	"trn1":  {0x4e802800, of4s}, "trn2": {0x4e806800, of4s}, "uzp1": {0x4e801800, of4s},
	"rev64":   {0x4ea00800, of4s[:2]},
	"trn1 2d": {0x4ec02800, of2d}, "trn2 2d": {0x4ec06800, of2d},
	"fadd 2d": {0x4e60d400, of2d}, "fsub 2d": {0x4ee0d400, of2d},
	"fmul 2d": {0x6e60dc00, of2d}, "fmla 2d": {0x4e60cc00, of2d},
	"add 2d": {0x4ee08400, of2d}, "cmgt": {0x4ee03400, of2d},
	"fcvtl": {0x0e617800, []string{"2d", "2s"}}, "fcvtl2": {0x4e617800, []string{"2d", "4s"}},
	"fcvtn": {0x0e616800, []string{"2s", "2d"}}, "fcvtn2": {0x4e616800, []string{"4s", "2d"}},
	"xtn":    {0x0ea12800, []string{"2s", "2d"}},
	"uaddlp": {0x6ea02800, []string{"2d", "4s"}}, "umlal": {0x2f802000, []string{"2d", "2s", "s[0]"}},
	"shll": {0x2e613800, []string{"4s", "4h"}}, "shll2": {0x6e613800, []string{"4s", "8h"}},
	"sdot":  {0x4e809400, []string{"4s", "16b", "16b"}},
	"scvtf": {0x4e21d800, of4s[:2]}, "fcvtns": {0x4e21a800, of4s[:2]}, "fabs": {0x4ea0f800, of4s[:2]},
	"addp": {0x4ea0bc00, of4s}, "fmaxv": {0x6e30f800, []string{"s", "4s"}},
	"fcvtl 4s": {0x0e217800, []string{"4s", "4h"}}, "fcvtl2 4s": {0x4e217800, []string{"4s", "8h"}},
	"sqxtn 4h": {0x0e614800, []string{"4h", "4s"}}, "sqxtn2 8h": {0x4e614800, []string{"8h", "4s"}},
	"sqxtn 8b": {0x0e214800, []string{"8b", "8h"}}, "sqxtn2 16b": {0x4e214800, []string{"16b", "8h"}},
	"sxtl": {0x0f10a400, []string{"4s", "4h"}}, "sxtl2": {0x4f10a400, []string{"4s", "8h"}},
	"sxtl 8h": {0x0f08a400, []string{"8h", "8b"}}, "sxtl2 8h": {0x4f08a400, []string{"8h", "16b"}},
	"and": {0x4e201c00, ofB}, "bic": {0x4e601c00, ofB}, "orr": {0x4ea01c00, ofB}, "eor": {0x6e201c00, ofB},
	"bit": {0x6ea01c00, ofB}, "bif": {0x6ee01c00, ofB},
}

// line returns an instruction for the assembler.
func line(bits uint32, format string, args ...any) string {
	return fmt.Sprintf("\tWORD $0x%08x // %s\n", bits, fmt.Sprintf(format, args...))
}

// instruction returns the instruction with registers d, the result, n and m.
func instruction(name string, registers ...int) string {
	w, known := words[name]
	if !known || len(registers) != len(w.shapes) {
		panic(fmt.Sprintf("no instruction %s of %d registers", name, len(registers)))
	}
	text := ""
	for i, r := range registers {
		w.bits |= uint32(r) << []int{0, 5, 16}[i]
		if shape := w.shapes[i]; shape == "s" {
			text += fmt.Sprintf(", s%d", r)
		} else {
			text += fmt.Sprintf(", v%d.%s", r, shape)
		}
	}
	text += map[string]string{"cmlt": ", #0", "shll": ", #16", "shll2": ", #16"}[name]
	var mnemonic string
	fmt.Sscan(name, &mnemonic)
	return line(w.bits, "%s %s", mnemonic, text[2:])
}

// byElement returns the instruction d += n·m[lane].
func byElement(d, n, m, lane int) string {
	bits := 0x4f801000 | uint32(lane&1)<<21 | uint32(lane>>1)<<11 | uint32(m)<<16 | uint32(n)<<5 | uint32(d)
	return line(bits, "fmla v%d.4s, v%d.4s, v%d.s[%d]", d, n, m, lane)
}

// sdotByElement returns the instruction d += n·m[lane], where lanes of four whole numbers of 8 bits are multiplied.
func sdotByElement(d, n, m, lane int) string {
	bits := 0x4f80e000 | uint32(lane&1)<<21 | uint32(lane>>1)<<11 | uint32(m)<<16 | uint32(n)<<5 | uint32(d)
	return line(bits, "sdot v%d.4s, v%d.16b, v%d.4b[%d]", d, n, m, lane)
}

// shift returns the instruction that shifts all lanes, of 4 or 8 bytes, by n: shl to the left, ushr and sshr to the
// right.
func shift(name string, d, from, n, size int) string {
	base := map[string]uint32{"shl": 0x4f005400, "ushr": 0x6f000400, "sshr": 0x4f000400}[name]
	amount := 16*size - n
	if name == "shl" {
		amount = 8*size + n
	}
	shape := map[int]string{4: "4s", 8: "2d"}[size]
	bits := base | uint32(amount)<<16 | uint32(from)<<5 | uint32(d)
	return line(bits, "%s v%d.%s, v%d.%[3]s, #%[5]d", name, d, shape, from, n)
}

// indexed returns the instruction that loads (ldr) or stores (str) vector v at the sum of the registers base and index.
func indexed(name string, v, base, index int) string {
	bits := map[string]uint32{"ldr": 0x3ce06800, "str": 0x3ca06800}[name]
	return line(bits|uint32(index)<<16|uint32(base)<<5|uint32(v), "%s q%d, [x%d, x%d]", name, v, base, index)
}

// byElementProduct returns the instruction d = n·m[0].
func byElementProduct(d, n, m int) string {
	return line(0x4f809000|uint32(m)<<16|uint32(n)<<5|uint32(d), "fmul v%d.4s, v%d.4s, v%d.s[0]", d, n, m)
}
