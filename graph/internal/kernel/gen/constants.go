package main

import (
	"fmt"
	"slices"
	"strings"
)

// constants is the read-only data of an assembly file: every constant as often as an AVX2 register holds it.
type constants struct {
	name   string
	width  int // of a constant, in bytes
	list   []constant
	masked bool
	ramp   uint64 // the lanes' multiples of this are wanted too
}

// address is where a constant lies.
func (c *constants) address(k constant) string {
	for i, have := range c.list {
		if have == k {
			return fmt.Sprintf("%s<>+%d(SB)", c.name, i*c.width)
		}
	}
	c.list = append(c.list, k)
	return c.address(k)
}

// masks is the address of the border between 16 ones and 16 zeros.
func (c *constants) masks() string {
	c.masked = true
	return fmt.Sprintf("masks%s<>+%d(SB)", c.name, block*bytes)
}

// multiples is the address of 0, step, 2·step, … 15·step, from the given number of bytes on.
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
