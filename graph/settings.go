package graph

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// mostThreads is more than any machine has processors: what each thread takes is allocated for as many.
const mostThreads = 4096

// SetThreads fixes the number of threads that kernels built from here on use, at most 4096; 1 starts none. With 0 there
// is one per processor at most, and each loop uses as many as its work is worth: handing it to another thread takes
// some ping-pongs of a line of the cache, which is measured once in a process. The results do not depend on the number,
// bit for bit.
func (g *Graph) SetThreads(n int) {
	if g != nil {
		g.pool = kernel.NewPool(min(n, mostThreads))
	}
}

// SetBlank leaves at 0 the parameters that are declared from here on and have names of which read is true: whoever
// reads them need not draw them. nil is none.
func (g *Graph) SetBlank(read func(name string) bool) {
	if g != nil {
		g.blank = read
	}
}

// Threads returns the largest number of threads that kernels use.
func (g *Graph) Threads() int { return g.Pool().Threads() }

// Pool runs loops on the graph's threads, for optimizers.
func (g *Graph) Pool() *kernel.Pool {
	if g == nil || g.pool == nil {
		return kernel.NewPool(1)
	}
	return g.pool
}

// runContext is what operations ask about the run they are in.
type runContext struct {
	training bool
	step     uint64
	numbered bool   // the step, by SetStep
	begun    bool   // there was a run with gradients
	serial   uint64 // number of the run, over all programs of the graph
}

// begin numbers a run. One with gradients is the next step of training unless the caller numbers the steps: else every
// step of a loop would drop the same entries.
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

// SetStep numbers the next run: dropout is a function of the seed, the place, the step and the entry. Until it is
// called runs with gradients number themselves, from 0, while training; from then on the steps are the caller's, who
// resumes where a run has ended, or holds the step to differentiate by differences.
func (g *Graph) SetStep(step uint64) {
	if g.exists() {
		g.run.step, g.run.numbered = step, true
	}
}
