package graph

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/graph/internal/memory"
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

// SetMemoryLimit sets the number of bytes that a Graph may hold in later declarations and in its programs. A tensor
// beyond the limit is not allocated but an error of its place. 0 means MachineMemory. Later siblings have the same
// limit.
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

// little is an amount of memory that every machine has, for which its memory is not read.
const little = 1 << 26

// hold adds a tensor to the declared bytes and reports whether it is within the memory limit.
func (g *Graph) hold(name string, shape []int, size uintptr) bool {
	bytes := float64(float64(size) * entries(shape))
	if err := g.allows(bytes); err != nil {
		g.fail(name, "shape %v: %v", tensor.Shape(shape), err)
		return false
	}
	g.held += bytes
	return true
}

// arena returns the memory of the programs, which stays within the limit.
func (g *Graph) arena() *plan.Arena {
	g.memory.Allows = g.allows
	return &g.memory
}

// allows returns an error if the given number of further bytes exceeds the limit.
func (g *Graph) allows(bytes float64) error {
	const gib = 1 << 30
	all := g.held + bytes
	if g.ops.Outline || all <= float64(cmp.Or(g.limit, little)) || all <= float64(g.MemoryLimit()) {
		return nil
	}
	return errors.Errorf("memory: got %.4g GiB with %.4g GiB held before, want at most %.4g GiB",
		all/gib, g.held/gib, float64(g.MemoryLimit())/gib)
}

// unknownMemory is the memory assumed for a machine that does not report it: 64 GiB.
const unknownMemory = 64 << 30

// MachineMemory returns the memory in bytes that the process may use: the machine's, or the limit of its container
// (cgroup) if that is less. On systems other than Linux, macOS and the BSDs, and where the memory is unknown, it
// returns 64 GiB.
func MachineMemory() int64 {
	if n := memory.OfMachine(); n > 0 {
		return n
	}
	return unknownMemory
}

// Bytes returns the memory that the programs of the graph hold for results, gradients and everything in between,
// without the parameters.
func (g *Graph) Bytes() int {
	if g == nil {
		return 0
	}
	return g.memory.Bytes()
}
