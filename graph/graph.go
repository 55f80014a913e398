package graph

import (
	"slices"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	_ "go4.org/unsafe/assume-no-moving-gc" // Gorgonia's dependency; an older version of it panics at start on this Go
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// building guards what Gorgonia keeps in package-level variables while graphs are built and differentiated: two
// goroutines may each build another Graph.
var building sync.Mutex

// Graph is a set of named parameters and inputs and the expressions built on them. Build and run one Graph in one
// goroutine at a time; different Graphs are independent of one another, also when they share parameters (Sibling).
type Graph struct {
	Kernels bool // kernels may stand in for the layers' equations; set it before building

	g         *G.ExprGraph
	dtype     tensor.Dtype
	seed      uint64
	salt      string
	pool      *kernel.Pool
	memory    plan.Arena // of the programs
	recompute []string   // scopes whose insides are computed again for the backward pass
	outline   bool       // declared on, never computed with
	limit     int64      // of memory in bytes; 0 is the machine's
	held      float64    // bytes that are declared
	err       error
	ops       int64
	run       *runContext

	params         []Expr
	leaves         []Expr // parameters and inputs
	names          map[string]bool
	store          map[string]*tensor.Dense     // parameters by name, shared by siblings
	source         map[int64]source             // node → where and as what it was made; those of a backward pass have none
	drops          map[string]int               // scope → dropouts so far
	firstInput     map[string]Expr              // scope → the first expression that came into it
	differentiated bool                         // Gorgonia hands out the first gradients again the second time
	spans          map[*G.Node]*attention.Spans // of masks
}

// runContext is what operations ask about the run they are in.
type runContext struct {
	training bool
	step     uint64
	serial   uint64 // number of the run, over all programs of the graph
}

// New returns an empty Graph that computes in the given type. The seed fixes every initial value together with the
// parameter's name: neither the order of declaration nor what else is declared changes it.
func New(dtype Dtype, seed uint64) *Graph {
	g := &Graph{Kernels: true, dtype: dtype, seed: seed, store: map[string]*tensor.Dense{}, pool: kernel.NewPool(0)}
	g.clear()
	return g
}

func (g *Graph) clear() {
	g.g = G.NewGraph()
	g.names, g.source, g.drops, g.firstInput = map[string]bool{}, map[int64]source{}, map[string]int{}, map[string]Expr{}
	g.memory.Double, g.memory.Allows = g.dtype == Float64, g.allows
	g.run, g.spans = &runContext{training: true}, map[*G.Node]*attention.Spans{}
}

// Sibling returns an empty Graph of the same type, seed and threads that shares parameters with g: one declared under a
// name that g has is the same numbers, for training in one graph and decoding in the other.
func (g *Graph) Sibling() *Graph {
	s := &Graph{Kernels: g.Kernels, dtype: g.dtype, seed: g.seed, salt: g.salt, store: g.store, pool: g.pool, limit: g.limit}
	s.clear()
	return s
}

// SetThreads fixes the number of threads that kernels built from here on use; 0 means one per processor, 1 starts none.
// The results do not depend on it, bit for bit.
func (g *Graph) SetThreads(n int) { g.pool = kernel.NewPool(n) }

// Threads is the number of threads that kernels use.
func (g *Graph) Threads() int { return g.pool.Threads() }

// Pool runs loops on the graph's threads, for optimizers.
func (g *Graph) Pool() *kernel.Pool { return g.pool }

// SetTraining switches dropout on or off for the next runs.
func (g *Graph) SetTraining(on bool) { g.run.training = on }

// SetStep numbers the next run: dropout is a function of the seed, the place, the step and the entry.
func (g *Graph) SetStep(step uint64) { g.run.step = step }

// Params lists the parameters in the order of declaration.
func (g *Graph) Params() []Expr { return g.params }

// Leaf is the parameter or input of that full name.
func (g *Graph) Leaf(name string) (x Expr, ok bool) {
	i := slices.IndexFunc(g.leaves, func(x Expr) bool { return x.name == name })
	if i < 0 {
		return Expr{}, false
	}
	return g.leaves[i], true
}

// Entering is the first expression that came into the layer at the given place: the activation that a layer works on,
// by the layer's name, to look at or to differentiate by.
func (g *Graph) Entering(path string) (x Expr, ok bool) {
	x, ok = g.firstInput[path]
	return x, ok
}

// Err is the first error in building, with a stack.
func (g *Graph) Err() error { return g.err }

func (g *Graph) fail(scope, format string, args ...any) {
	if g.err == nil {
		g.err = errors.Errorf("%s"+format, append([]any{prefix(scope)}, args...)...)
	}
}

func prefix(scope string) string {
	if scope == "" {
		return ""
	}
	return scope + ": "
}
