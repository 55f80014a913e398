package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// mostThreads is the maximum number of threads, more than any machine has processors: the memory that each thread needs
// is allocated for that number.
const mostThreads = 4096

// SetThreads sets the number of threads that kernels built from here on use, at most 4096; with 1 they start none. With
// 0 there is at most one per processor, and each loop uses a number that its work justifies: passing work to another
// thread costs some round trips of a cache line, which are measured once per process. The results do not depend on the
// number, bit for bit.
func (g *Graph) SetThreads(n int) {
	if g != nil {
		g.pool = kernel.NewPool(min(n, mostThreads))
	}
}

// SetBlank leaves the parameters for which read(name) is true at zero instead of drawing initial values; the caller
// fills them. It applies to parameters declared from here on. A nil read selects no parameter.
func (g *Graph) SetBlank(read func(name string) bool) {
	if g != nil {
		g.blank = read
	}
}

// Threads returns the largest number of threads that kernels use.
func (g *Graph) Threads() int { return g.Pool().Threads() }

// Pool returns the pool that runs loops on the graph's threads, for optimizers.
func (g *Graph) Pool() *kernel.Pool {
	if g == nil || g.pool == nil {
		return kernel.NewPool(1)
	}
	return g.pool
}

// runContext holds what operations need from the current run.
type runContext struct {
	training bool
	step     uint64
	numbered bool   // SetStep has set the step
	begun    bool   // a run with gradients has taken place
	serial   uint64 // number of the run, over all programs of the graph
}

// begin numbers a run. A run with gradients is the next step of training unless the caller numbers the steps; otherwise
// every step of a loop would drop the same entries.
func (r *runContext) begin(gradients bool) {
	if r.serial++; !gradients || !r.training || r.numbered {
		return
	}
	if r.begun {
		r.step++
	}
	r.begun = true
}

// SetTraining switches dropout on or off for the next runs.
func (g *Graph) SetTraining(on bool) {
	if g.exists() {
		g.run.training = on
	}
}

// SetStep sets the step of the next run. Dropout is a function of the seed, the place, the step and the entry. Without
// SetStep, runs with gradients number themselves from 0 while training. After the first call, the caller sets every
// step, in order to resume a run, or to hold the step for finite differences.
func (g *Graph) SetStep(step uint64) {
	if g.exists() {
		g.run.step, g.run.numbered = step, true
	}
}

// Instructions returns the instruction set of the float32 kernels: "AVX512", "AVX2", "NEON" on arm64, or "Go" if this
// processor or this program supports none of them. The kernels of the three compute the same bits; plain Go computes
// others.
func Instructions() string { return simd.Of[float32]().String() }
