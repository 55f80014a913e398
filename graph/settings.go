package graph

import (
	"context"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
)

// mostThreads is the maximum number of threads, more than any machine has processors: the memory that each thread needs
// is allocated for that number.
const mostThreads = 4096

// SetThreads sets the number of threads that kernels built from here on use, at most 4096; with 1 they start none. With
// 0 there is at most one per processor, and each loop uses a number that its work justifies: passing work to another
// thread costs some round trips of a cache line, which are measured once per process. The results do not depend on the
// number, bit for bit.
func (g *Graph) SetThreads(n int) {
	if g.exists() {
		g.ops.Pool = kernel.NewPool(min(n, mostThreads))
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
	if !g.exists() {
		return kernel.NewPool(1)
	}
	return g.ops.Pool
}

// SetTraining switches dropout on or off for the next runs.
func (g *Graph) SetTraining(on bool) {
	if g.exists() {
		g.ops.Run.Training.Store(on)
	}
}

// SetStep sets the step of the next run. Dropout is a function of the seed, the place, the step and the entry. Without
// SetStep, runs with gradients number themselves from 0 while training. After the first call, the caller sets every
// step, in order to resume a run, or to hold the step for finite differences.
func (g *Graph) SetStep(step uint64) {
	if g.exists() {
		g.ops.Run.SetStep(step)
	}
}

// Instructions returns the instruction set of the float32 kernels: "AVX512", "AVX2", "NEON" on arm64, or "Go" if this
// processor or this program supports none of them. All of them compute the same bits.
func Instructions() string { return simd.Of[float32]().String() }

// Precisions returns the names that SetPrecision accepts, the default first.
func Precisions() []string { return []string{"float32", "bf16"} }

// SetPrecision sets the precision in which kernels built from here on multiply, in a graph of Float32. With "bf16" the
// operands of the products of Linear, LinearT and softmax attention, forward and backward, are rounded to bfloat16,
// numbers of 8 significant bits, while they are packed. The stored operands, all sums and all other operations stay in
// float32. Stock operations, graphs of Float64 and Siblings ignore the setting: it is for training. An unknown name is
// an error of the graph.
func (g *Graph) SetPrecision(name string) {
	switch {
	case !g.exists():
	case !slices.Contains(Precisions(), name):
		g.fail("", "precision: got %q, want one of %s%s",
			name, strings.Join(Precisions(), ", "), spelling.Hint(name, Precisions()))
	default:
		g.ops.Rounds = name == "bf16" && g.ops.Dtype == Float32
	}
}

// Precision returns the precision in which kernels multiply and, if they round, the method on this processor: "bfloat16
// by VDPBF16PS" or "bfloat16 by rounding", which multiplies rounded copies in float32. Both compute the same bits
// unless a partial sum is below 2⁻¹²⁶; without vector instructions the bits differ.
func (g *Graph) Precision() string {
	switch {
	case !g.exists() || g.ops.Dtype != Float32:
		return "float64"
	case g.ops.Rounds && g.Kernels:
		return gemm.Rounded{}.String()
	}
	return "float32"
}

// SetContext makes building, differentiating and compiling g fail as soon as ctx is done. The error wraps the cause of
// its end. Programs that are already compiled continue to run, and siblings have no context. context.Background or nil
// removes the context. Sorting the nodes is not interrupted.
func (g *Graph) SetContext(ctx context.Context) {
	if g != nil {
		g.context = ctx
	}
}
