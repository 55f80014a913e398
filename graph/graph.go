package graph

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	_ "go4.org/unsafe/assume-no-moving-gc" // Gorgonia's dependency; an older version of it panics at start on this Go
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// building guards Gorgonia's package-level variables while graphs are built and differentiated, so that two goroutines
// may each build a Graph.
var building sync.Mutex

// Graph is a set of named parameters and inputs and the expressions built on them. New, Build, Sibling and Outline
// create one. Build a Graph, and set its switches, in one goroutine at a time. Its programs share memory, so they also
// run one at a time: starting a second one while one runs is an error. Different Graphs are independent of each other,
// even if they share parameters (Sibling). They may be declared and run at the same time, and while an optimizer of
// package optim updates, because changes of parameters wait for the programs that read them (Exclusive).
type Graph struct {
	Kernels bool // kernels may stand in for the layers' equations; set it before building

	g         *G.ExprGraph
	dtype     tensor.Dtype
	seed      uint64
	salt      string
	pool      *kernel.Pool
	memory    plan.Arena             // the memory of the programs
	recompute []string               // scopes whose inner results are computed again for the backward pass
	rounds    bool                   // round the operands of products to bfloat16
	outline   bool                   // shapes only, no numbers
	blank     func(name string) bool // reports the parameters that need no initial values
	limit     int64                  // memory limit in bytes; 0 means the machine's
	held      float64                // bytes of the declared tensors
	err       error
	failed    *failedOp // the operation that caused err; nil for any other error
	ops       int64
	run       *runContext
	context   context.Context // building stops when it ends; nil means none

	params         []Expr
	leaves         []Expr // parameters and inputs
	names          map[string]bool
	running        sync.Mutex                   // held while a program runs
	store          *store                       // shared by siblings
	source         map[int64]source             // node → its scope and operation; not set in the backward pass
	drops          map[string]int               // scope → number of dropouts so far
	firstInput     map[string]Expr              // scope → the first expression that came into it from outside
	firstOutput    map[string]Expr              // scope → the first expression that left it for another one
	entered        string                       // the scope that an expression entered last
	places         places                       // activations by name
	multiplied     map[string]bool              // parameter that Linear or LinearT multiplies by → is it LinearT
	differentiated error                        // the error for differentiating once more; nil before the first time
	spans          map[*G.Node]*attention.Spans // mask → its spans
}

// New returns an empty Graph that computes in the given type, Float32 or Float64. Each initial value depends only on
// the seed and the parameter's name: neither the order of declaration nor other declarations change it.
func New(dtype Dtype, seed uint64) *Graph {
	g := &Graph{Kernels: true, dtype: dtype, seed: seed, pool: kernel.NewPool(0)}
	g.store = newStore()
	g.clear()
	if dtype != Float32 && dtype != Float64 {
		g.dtype = Float64
		g.fail("", "the type is neither Float32 nor Float64")
	}
	return g
}

func (g *Graph) clear() {
	g.g = G.NewGraph()
	g.names, g.source, g.drops = map[string]bool{}, map[int64]source{}, map[string]int{}
	g.multiplied = map[string]bool{}
	g.firstInput, g.firstOutput = map[string]Expr{}, map[string]Expr{}
	g.memory.Double, g.memory.Allows, g.memory.Stopped = g.dtype == Float64, g.allows, g.interrupted
	g.places = places{found: map[string]Expr{}, edits: map[string][]func(Expr) Expr{}, equations: map[string]bool{}}
	g.run, g.spans = &runContext{training: true}, map[*G.Node]*attention.Spans{}
}

// Sibling returns an empty Graph of the same type, seed and threads that shares parameters with g: a parameter declared
// under a name that g has uses the same memory. This allows training in one graph and decoding in the other. The edits
// of Edit and the scopes of Spell apply to the sibling too.
func (g *Graph) Sibling() *Graph {
	if !g.exists() {
		return g.orFailed("")
	}
	s := &Graph{Kernels: g.Kernels, dtype: g.dtype, seed: g.seed, salt: g.salt, pool: g.pool, limit: g.limit}
	s.store = g.store
	s.clear()
	s.places.edits, s.places.equations = maps.Clone(g.places.edits), maps.Clone(g.places.equations)
	return s
}

// Params lists the parameters in the order of declaration.
func (g *Graph) Params() []Expr {
	if g == nil {
		return nil
	}
	return g.params
}

// Leaves lists the declared parameters and inputs in the order of declaration.
func (g *Graph) Leaves() []Expr {
	if g == nil {
		return nil
	}
	return g.leaves
}

// Leaf returns the parameter or input with the given full name.
func (g *Graph) Leaf(name string) (x Expr, ok bool) {
	i := slices.IndexFunc(g.Leaves(), func(x Expr) bool { return x.name == name })
	if i < 0 {
		return Expr{}, false
	}
	return g.leaves[i], true
}
