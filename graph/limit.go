package graph

import (
	"cmp"
	"math"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

// SetMemoryLimit fixes how many bytes a Graph may hold in what is declared from here on and in its programs: what would
// go beyond is an error of that place and is not allocated. 0 is MachineMemory. Siblings made from here on have the
// same.
func (g *Graph) SetMemoryLimit(bytes int64) {
	if g != nil {
		g.limit = max(0, bytes)
	}
}

// MemoryLimit returns the most bytes that g may hold.
func (g *Graph) MemoryLimit() int64 {
	if g != nil && g.limit > 0 {
		return g.limit
	}
	return MachineMemory()
}

// hold counts a tensor that is about to be made, if there may be one.
func (g *Graph) hold(name string, shape []int, size uintptr) bool {
	bytes := float64(size) * entries(shape)
	if err := g.allows(bytes); err != nil {
		g.fail(name, "shape %v: %v", tensor.Shape(shape), err)
		return false
	}
	g.held += bytes
	return true
}

// allows returns an error if so many bytes more are beyond the limit. What every machine has is not looked up.
func (g *Graph) allows(bytes float64) error {
	const little, gib = 1 << 26, 1 << 30
	all := g.held + bytes
	if g.outline || all <= float64(cmp.Or(g.limit, little)) || all <= float64(g.MemoryLimit()) {
		return nil
	}
	return errors.Errorf("memory: got %.4g GiB with %.4g GiB held before, want at most %.4g GiB",
		all/gib, g.held/gib, float64(g.MemoryLimit())/gib)
}

// entries returns the product of the sizes, which a float64 holds whatever they are.
func entries(shape []int) float64 {
	n := 1.0
	for _, size := range shape {
		n *= float64(size)
	}
	return n
}

// fits reports whether a tensor may have so many entries: the bytes of many such can still be counted in an int.
func fits(entries float64) bool { return entries <= min(1<<40, math.MaxInt/8) }
