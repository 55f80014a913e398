package main

import (
	"fmt"
	"strconv"
	"strings"
)

// place sets register to to the address that is written as offset(base) or offset(base)(index*4).
func (f *fn) place(written, to string) {
	offset, registers, _ := strings.Cut(strings.TrimSuffix(written, ")"), "(")
	base, index, scaled := strings.Cut(registers, ")(")
	if scaled {
		f.write("ADD %s<<2, %s, %s", strings.TrimSuffix(index, "*4"), base, to)
		base = to
	}
	if n, _ := strconv.Atoi(offset); n != 0 || base != to {
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

// blend computes d = b where the mask's sign is set, else a.
func (f *fn) blend(d, a, b, mask int) {
	f.word("cmlt", spareVec, mask)
	if d == b {
		f.word("bif", d, a, spareVec)
		return
	}
	f.copyVector(d, a)
	f.word("bit", d, b, spareVec)
}

// neonBegin is begin for NEON.
func (f *fn) neonBegin() string {
	text := fmt.Sprintf("\tMOVD $%s<>(SB), R%d\n", f.pool.name, numbers)
	for i, c := range f.held {
		text += fmt.Sprintf("\tFMOVQ %s, F%d\n", f.pool.near(c), f.top-i)
	}
	return text
}

// neonSet is set for NEON.
func (f *fn) neonSet(to int, c constant) {
	if register, held := f.hold(c); held {
		f.copyVector(to, register)
	} else {
		f.write("FMOVQ %s, F%d", f.pool.near(c), to)
	}
}

// general returns the number of a general register.
func general(register string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(register, "R"))
	if err != nil {
		panic(register + " is not a general register of arm64")
	}
	return n
}

// lowVector returns the register whose low part an operand is.
func lowVector(operand any) (register int, is bool) {
	text, _ := operand.(string)
	register, err := strconv.Atoi(strings.TrimPrefix(text, "X"))
	return register, err == nil
}

// neonOperand returns the number of the vector register that holds an operand. It loads the operand if necessary.
func (f *fn) neonOperand(operand any) int {
	switch o := operand.(type) {
	case vec:
		return o[f.part]
	case constant:
		if register, held := f.hold(o); held {
			return register
		}
		f.takeSpare()
		f.write("FMOVQ %s, F%d", f.pool.near(o), spareVec)
	case string:
		if register, is := lowVector(o); is {
			return register
		}
		f.takeSpare()
		if symbol, isTable := strings.CutSuffix(o, "(SB)"); isTable {
			f.write("MOVD $%s(SB), R%d", symbol, address)
			f.write("FMOVQ (R%d), F%d", address, spareVec)
		} else {
			f.write("FMOVS %s, F%d", o, spareVec)
		}
	}
	return spareVec
}

// takeSpare reserves the spare register. It panics if another operand is in it.
func (f *fn) takeSpare() {
	if f.spared {
		panic(f.name + ": two operands for one spare register")
	}
	f.spared = true
}
