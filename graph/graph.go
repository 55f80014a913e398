package graph

import (
	"maps"
	"slices"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
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

	failure
	g         *G.ExprGraph
	ops       *ops.Builder // adds operations to g
	seed      uint64
	memory    plan.Arena             // the memory of the programs
	recompute []string               // scopes whose inner results are computed again for the backward pass
	blank     func(name string) bool // reports the parameters that need no initial values
	limit     int64                  // memory limit in bytes; 0 means the machine's
	held      float64                // bytes of the declared tensors

	params         []Expr
	leaves         []Expr // parameters and inputs
	names          map[string]bool
	running        sync.Mutex       // held while a program runs
	store          *store           // shared by siblings
	source         map[int64]source // node → its scope and operation; not set in the backward pass
	drops          map[string]int   // scope → number of dropouts so far
	firstInput     map[string]Expr  // scope → the first expression that came into it from outside
	firstOutput    map[string]Expr  // scope → the first expression that left it for another one
	entered        string           // the scope that an expression entered last
	places         places           // activations by name
	columns        map[string][]int // parameter → widths of the matrices that it packs
	lookedUp       map[string]bool  // parameters whose rows a kernel looks up: see LookedUp
	tables         map[string]bool  // parameters that Table declared
	multiplied     map[string]bool  // parameter that a kernel multiplies by → is it transposed
	differentiated error            // the error for differentiating once more; nil before the first time
}

// Expr is a symbolic value: a parameter, an input, or the result of an operation on others. Its methods build nodes of
// the graph and compute nothing. Once building has failed, every result is an empty Expr, every method returns an empty
// Expr, and Compile returns the first error. The zero Expr belongs to no graph and leads to such an error too.
type Expr struct {
	g     *Graph
	scope string
	node  *G.Node

	name  string        // full name of a parameter or input
	dense *tensor.Dense // its numbers
	shape []int         // its shape as the caller declared it
	ids   *idRange      // set for integers only
	rule  *ruled        // set if a Rule computes the numbers
}

// places holds the activations that layers name, and the edits of them.
type places struct {
	found     map[string]Expr
	order     []string               // the keys of found in the order of the network
	derived   map[string]func() Expr // from Derive, which Activation has not computed yet
	edits     map[string][]func(Expr) Expr
	equations map[string]bool // scopes that compute their equations instead of kernels

	rows        Expr // the argument of SetRows
	ignoredRows bool // the result of some edit does not come from the rows
}

// New returns an empty Graph that computes in the given type, Float32 or Float64. Each initial value depends only on
// the seed and the parameter's name: neither the order of declaration nor other declarations change it.
func New(dtype Dtype, seed uint64) *Graph {
	g := &Graph{Kernels: true, seed: seed, store: newStore()}
	unknown := dtype != Float32 && dtype != Float64
	if unknown {
		dtype = Float64
	}
	g.clear(dtype, kernel.NewPool(0))
	if unknown {
		g.fail("", "the type is neither Float32 nor Float64")
	}
	return g
}

// clear makes g an empty graph that computes in the given type.
func (g *Graph) clear(dtype Dtype, pool *kernel.Pool) {
	g.g, g.ops = G.NewGraph(), ops.New(dtype, pool, g.interrupted)
	g.names, g.source, g.drops = map[string]bool{}, map[int64]source{}, map[string]int{}
	g.columns, g.multiplied = map[string][]int{}, map[string]bool{}
	g.lookedUp, g.tables = map[string]bool{}, map[string]bool{}
	g.firstInput, g.firstOutput = map[string]Expr{}, map[string]Expr{}
	g.memory.Double, g.memory.Stopped = dtype == Float64, g.interrupted
	g.places = places{
		found: map[string]Expr{}, derived: map[string]func() Expr{},
		edits: map[string][]func(Expr) Expr{}, equations: map[string]bool{},
	}
}

// Sibling returns an empty Graph of the same type, seed and threads that shares parameters with g: a parameter declared
// under a name that g has uses the same memory. This allows training in one graph and decoding in the other. The edits
// of Edit and the scopes of Spell apply to the sibling too, and it begins with g's switch of SetTraining.
func (g *Graph) Sibling() *Graph {
	if !g.exists() {
		return g.orFailed("")
	}
	s := &Graph{Kernels: g.Kernels, seed: g.seed, limit: g.limit, store: g.store}
	s.clear(g.ops.Dtype, g.ops.Pool)
	s.ops.Salt = g.ops.Salt
	s.ops.Run.Training.Store(g.ops.Run.Training.Load())
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

// Err returns the first error in building, with a stack trace.
func (g *Graph) Err() error {
	if !g.exists() {
		return g.orFailed("").err
	}
	return g.err
}

// exists reports whether g was created by a constructor, and is neither nil nor a literal.
func (g *Graph) exists() bool { return g != nil && g.g != nil }

// orFailed returns g if it exists. Otherwise it returns a new graph that has failed, so that Compile returns the error
// of everything built on it.
func (g *Graph) orFailed(scope string) *Graph {
	if g.exists() {
		return g
	}
	failed := New(Float64, 0)
	failed.fail(scope, "no graph: create one with New, Build, Sibling or Outline")
	return failed
}
