// Package fma computes x·y + z in float32, rounded once, in plain Go. It gives the bits of the vector instructions that
// do so, on every processor.
package fma

import "math"

// Block is the number of entries that Lanes and Negated compute.
const Block = 16

// Tile is the height and the width of the part of a product that Product computes.
const Tile = 4

// Panel holds Tile rows or columns of a matrix for Product.
type Panel struct {
	numbers []Number
	bits    uint32 // set in any of the numbers
	least   uint32 // the least exponent of the numbers that are not 0, as float32 stores it
}

// NewPanel returns a panel in the given memory.
func NewPanel(numbers []Number) Panel { return Panel{numbers[:0], 0, math.MaxUint8} }

// Append adds a row to the panel, which Product multiplies by a row of another panel.
func (p *Panel) Append(row *[Tile]float32) {
	for _, x := range row {
		p.numbers = append(p.numbers, Number(x))
		bits := math.Float32bits(x)
		p.bits |= bits
		if bits<<1 != 0 {
			p.least = min(p.least, max(1, bits<<1>>24))
		}
	}
}

// Product computes c = Σ aₗᵀ·bₗ, where aₗ and bₗ are row l of the panels. It adds the products of an entry in this
// order, beginning with 0, each rounded once.
func Product(c *[Tile][Tile]float32, a, b *Panel) {
	if !product(c, a, b) {
		careful(c, a, b)
	}
}

// careful is Product one number at a time.
func careful(c *[Tile][Tile]float32, a, b *Panel) {
	for i := range c {
		for j := range c[i] {
			sum := float32(0)
			for l := 0; l < len(a.numbers); l += Tile {
				sum = Float32(float32(a.numbers[l+i]), float32(b.numbers[l+j]), sum)
			}
			c[i][j] = sum
		}
	}
}
