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

// building guards what Gorgonia keeps in package-level variables while graphs are built and differentiated: two
// goroutines may each build another Graph.
var building sync.Mutex

// Graph is a set of named parameters and inputs and the expressions built on them; New, Build, Sibling and Outline make
// one. Build a Graph, and set its switches, in one goroutine at a time. Its programs share memory, so they run one at a
// time as well: a second one is refused while one runs. Different Graphs are independent of one another, also when they
// share parameters (Sibling): these are declared and run beside one another, and while an optimizer of package optim
// updates, because what changes the parameters waits for the programs that read them (Exclusive).
type Graph struct {
	Kernels bool // kernels may stand in for the layers' equations; set it before building

	g         *G.ExprGraph
	dtype     tensor.Dtype
	seed      uint64
	salt      string
	pool      *kernel.Pool
	memory    plan.Arena             // of the programs
	recompute []string               // scopes whose insides are computed again for the backward pass
	rounds    bool                   // operands of products to bfloat16
	outline   bool                   // declared on, never computed with
	blank     func(name string) bool // which parameters are declared without first numbers
	limit     int64                  // of memory in bytes; 0 is the machine's
	held      float64                // bytes that are declared
	err       error
	failed    *failedOp // whose error err is; nil of another error
	ops       int64
	run       *runContext
	context   context.Context // its end stops building; nil is none

	params         []Expr
	leaves         []Expr // parameters and inputs
	names          map[string]bool
	running        sync.Mutex                   // held by the program that runs
	store          *store                       // shared by siblings
	source         map[int64]source             // node → where and as what it was made; those of a backward pass have none
	drops          map[string]int               // scope → dropouts so far
	firstInput     map[string]Expr              // scope → the first expression that came into it from outside
	firstOutput    map[string]Expr              // scope → the first expression that left it for another one
	entered        string                       // the scope that an expression came into last
	places         places                       // activations by name
	multiplied     map[string]bool              // parameters that Linear and LinearT multiply by → is it LinearT
	differentiated error                        // once it is: why not again, which is what went wrong if something did
	spans          map[*G.Node]*attention.Spans // of masks
}

// New returns an empty Graph that computes in the given type, Float32 or Float64. The seed fixes every initial value
// together with the parameter's name: neither the order of declaration nor what else is declared changes it.
func New(dtype Dtype, seed uint64) *Graph {
	g := &Graph{Kernels: true, dtype: dtype, seed: seed, pool: kernel.NewPool(0)}
	g.store = newStore()
	g.clear()
	if dtype != Float32 && dtype != Float64 {
		g.dtype = Float64
		g.fail("", "a graph of another type than Float32 and Float64")
	}
	return g
}

func (g *Graph) clear() {
	g.g = G.NewGraph()
	g.names, g.source, g.drops = map[string]bool{}, map[int64]source{}, map[string]int{}
	g.multiplied = map[string]bool{}
	g.firstInput, g.firstOutput = map[string]Expr{}, map[string]Expr{}
	g.memory.Double, g.memory.Allows, g.memory.Stopped = g.dtype == Float64, g.allows, g.interrupted
	g.places = places{found: map[string]Expr{}, edits: map[string][]func(Expr) Expr{}, spelt: map[string]bool{}}
	g.run, g.spans = &runContext{training: true}, map[*G.Node]*attention.Spans{}
}

// Sibling returns an empty Graph of the same type, seed and threads that shares parameters with g: one declared under a
// name that g has is the same numbers, for training in one graph and decoding in the other. It has what Edit and Spell
// have said of g as well.
func (g *Graph) Sibling() *Graph {
	if !g.exists() {
		return g.made("")
	}
	s := &Graph{Kernels: g.Kernels, dtype: g.dtype, seed: g.seed, salt: g.salt, pool: g.pool, limit: g.limit}
	s.store = g.store
	s.clear()
	s.places.edits, s.places.spelt = maps.Clone(g.places.edits), maps.Clone(g.places.spelt)
	return s
}

// Params lists the parameters in the order of declaration.
func (g *Graph) Params() []Expr {
	if g == nil {
		return nil
	}
	return g.params
}

// Leaves lists what has been declared, parameters and inputs, in the order of declaration.
func (g *Graph) Leaves() []Expr {
	if g == nil {
		return nil
	}
	return g.leaves
}

// Leaf returns the parameter or input of that full name.
func (g *Graph) Leaf(name string) (x Expr, ok bool) {
	i := slices.IndexFunc(g.Leaves(), func(x Expr) bool { return x.name == name })
	if i < 0 {
		return Expr{}, false
	}
	return g.leaves[i], true
}
