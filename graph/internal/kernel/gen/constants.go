package main

import (
	"fmt"
	"slices"
	"strings"
)

// constants is the read-only data of an assembly file: every constant, repeated to fill a register of AVX2 or NEON.
type constants struct {
	name   string
	width  int // size of a constant in bytes
	list   []constant
	masked bool
	ramp   uint64 // if not 0, the table of its multiples is needed too
}

// address returns the address of a constant.
func (c *constants) address(k constant) string {
	return fmt.Sprintf("%s<>+%d(SB)", c.name, c.offset(k))
}

// near returns the address of a constant for NEON, which has the address of the first in a register.
func (c *constants) near(k constant) string { return fmt.Sprintf("%d(R%d)", c.offset(k), numbers) }

func (c *constants) offset(k constant) int {
	at := slices.Index(c.list, k)
	if at < 0 {
		c.list, at = append(c.list, k), len(c.list)
	}
	return at * c.width
}

// masks returns the address of the border between 16 ones and 16 zeros, plus the given number of bytes.
func (c *constants) masks(from int) string {
	c.masked = true
	return fmt.Sprintf("masks%s<>+%d(SB)", c.name, block*bytes+from)
}

// multiples returns the address of 0, step, 2·step, … 15·step, plus the given number of bytes.
func (c *constants) multiples(step uint64, from int) string {
	c.ramp = step
	return fmt.Sprintf("ramp%s<>+%d(SB)", c.name, from)
}

func (c *constants) data() string {
	var text strings.Builder
	table := func(name string, words []uint64) {
		text.WriteString("\n")
		for i, w := range words {
			fmt.Fprintf(&text, "DATA %s%s<>+%d(SB)/8, $0x%016x\n", name, c.name, 8*i, w)
		}
		fmt.Fprintf(&text, "GLOBL %s%s<>(SB), RODATA|NOPTR, $%d\n", name, c.name, 8*len(words))
	}
	var words []uint64
	for _, k := range c.list {
		words = append(words, slices.Repeat([]uint64{uint64(k)}, c.width/8)...)
	}
	table("", words)
	if c.masked {
		table("masks", slices.Concat(slices.Repeat([]uint64{^uint64(0)}, block/2), make([]uint64, block/2)))
	}
	if c.ramp != 0 {
		words = nil
		for i := range uint64(block) {
			words = append(words, i*c.ramp)
		}
		table("ramp", words)
	}
	return text.String()
}
