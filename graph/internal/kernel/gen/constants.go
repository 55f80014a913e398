package main

import (
	"fmt"
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
	for i, k := range c.list {
		if i == 0 {
			text.WriteString("\n")
		}
		for j := range c.width / 8 {
			fmt.Fprintf(&text, "DATA %s<>+%d(SB)/8, $0x%016x\n", c.name, i*c.width+8*j, uint64(k))
		}
	}
	fmt.Fprintf(&text, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", c.name, len(c.list)*c.width)
	if c.masked {
		text.WriteString("\n")
		for i := range block {
			ones := uint64(0)
			if i < block/2 {
				ones = ^ones
			}
			fmt.Fprintf(&text, "DATA masks%s<>+%d(SB)/8, $0x%016x\n", c.name, 8*i, ones)
		}
		fmt.Fprintf(&text, "GLOBL masks%s<>(SB), RODATA|NOPTR, $%d\n", c.name, 2*block*bytes)
	}
	if c.ramp != 0 {
		text.WriteString("\n")
		for i := range uint64(block) {
			fmt.Fprintf(&text, "DATA ramp%s<>+%d(SB)/8, $0x%016x\n", c.name, 8*i, i*c.ramp)
		}
		fmt.Fprintf(&text, "GLOBL ramp%s<>(SB), RODATA|NOPTR, $%d\n", c.name, 8*block)
	}
	return text.String()
}
