package graph

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	_ "go4.org/unsafe/assume-no-moving-gc" // Gorgonia's dependency; an older version of it panics at start on this Go
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// building guards what Gorgonia keeps in package-level variables while graphs are built and differentiated: two
// goroutines may each build a Graph of their own.
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
	memory    numbers  // of the programs
	recompute []string // scopes whose insides are computed again for the backward pass
	private   bool     // no two buffers share memory, for tests
	outline   bool     // declared on, never computed with
	err       error
	ops       int64
	run       *runContext

	params  []Expr
	leaves  []Expr // parameters and inputs
	names   map[string]bool
	store   map[string]*tensor.Dense  // parameters by name, shared by siblings
	origin  map[int64]origin          // node → where and as what it was made; those of a backward pass have none
	drops   map[string]int            // scope → dropouts so far
	entered map[string]Expr           // scope → the first expression that came into it
	graded  bool                      // differentiated already
	spans   map[*G.Node]*kernel.Spans // of masks
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
	g.names, g.origin, g.drops, g.entered = map[string]bool{}, map[int64]origin{}, map[string]int{}, map[string]Expr{}
	g.run, g.spans = &runContext{training: true}, map[*G.Node]*kernel.Spans{}
}

// Sibling returns an empty Graph of the same type, seed and threads that shares parameters with g: one declared under a
// name that g has is the same numbers, for training in one graph and decoding in the other.
func (g *Graph) Sibling() *Graph {
	s := &Graph{Kernels: g.Kernels, dtype: g.dtype, seed: g.seed, salt: g.salt, store: g.store, pool: g.pool}
	s.clear()
	return s
}

// SetThreads fixes the number of threads that kernels built from here on use; 0 means one per processor, 1 starts none. The
// results do not depend on it, bit for bit.
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

// Entering is the first expression that came into the layer at the given place: the activation that a layer works on, by
// the layer's name, to look at or to differentiate by.
func (g *Graph) Entering(path string) (x Expr, ok bool) {
	x, ok = g.entered[path]
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

// Scope is a place in a Graph: the prefix of the names of what a layer declares there.
type Scope struct {
	g    *Graph
	path string
}

// Root is the scope without a prefix.
func (g *Graph) Root() Scope { return Scope{g: g} }

// Graph is the graph that s is a place in.
func (s Scope) Graph() *Graph { return s.g }

// Path is the name of the place, such as "h.3.attn".
func (s Scope) Path() string { return s.path }

// Sub is the place inside s with the given name: "h.3" → "h.3.attn".
func (s Scope) Sub(format string, args ...any) Scope {
	return Scope{s.g, s.full(fmt.Sprintf(format, args...))}
}

func (s Scope) full(name string) string { return prefixed(s.path, name) }

func prefixed(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Failf records an error of this place; the first one of the Graph counts: "h.3.attn: 5 heads do not divide 32 features".
func (s Scope) Failf(format string, args ...any) { s.g.fail(s.path, format, args...) }

// Init gives entry i of a parameter or value its first number; rng is seeded by the Graph's seed and the full name. It is
// called by several goroutines at once.
type Init func(i int, rng *rand.Rand) float64

// Const is the same number everywhere.
func Const(x float64) Init { return func(int, *rand.Rand) float64 { return x } }

// Normal draws from N(0, std²).
func Normal(std float64) Init {
	return func(_ int, rng *rand.Rand) float64 { return std * rng.NormFloat64() }
}

// Param declares a trainable tensor under the scope's name. A vector of d entries is held as (1, d), and its Tensor has
// shape (d).
func (s Scope) Param(name string, init Init, shape ...int) Expr {
	if s.g.outline {
		return s.note(s.full(name), shape, true)
	}
	x := s.declare(name, init, s.g.store, shape)
	if x.node != nil {
		s.g.params = append(s.g.params, x)
	}
	return x
}

// Value declares a tensor that is fed through Tensor, not trained.
func (s Scope) Value(name string, init Init, shape ...int) Expr {
	if s.g.outline {
		return s.note(s.full(name), shape, false)
	}
	return s.declare(name, init, nil, shape)
}

func (s Scope) declare(name string, init Init, store map[string]*tensor.Dense, shape []int) Expr {
	full := s.full(name)
	failed := Expr{g: s.g, scope: s.path}
	if _, ok := entries(shape); !ok {
		s.g.fail(full, "shape %v: every size must be positive and the whole at most 2^40 entries", tensor.Shape(shape))
	}
	if s.g.err != nil || !s.claim(full) {
		return failed
	}
	held := shape
	if len(shape) == 1 {
		held = []int{1, shape[0]}
	}
	dense, shared := store[full]
	if shared && !dense.Shape().Eq(tensor.Shape(held)) {
		s.g.fail(full, "shape %v, but the shared parameter has %v", held, dense.Shape())
		return failed
	}
	if !shared {
		dense = newDense(s.g.dtype, held...)
		if store != nil {
			store[full] = dense
		}
		s.g.initialise(full, view(dense), init)
	}
	return s.g.addLeaf(s.leaf(full, dense, shape))
}

// entries is the product of the sizes, if each is positive and the product at most 2^40.
func entries(shape []int) (size int, ok bool) {
	size = 1
	for _, n := range shape {
		if n < 1 || int64(size) > 1<<40/int64(n) {
			return 0, false
		}
		size *= n
	}
	return size, true
}

// Ints declares n integers, such as token ids, that are fed through Ints. limit is the number of values that they may
// take: a run refuses an id outside 0 … limit−1, except one that equals ignore.
func (s Scope) Ints(name string, n, limit, ignore int) Expr {
	full := s.full(name)
	if s.g.outline {
		return s.note(full, []int{n}, false)
	}
	if _, ok := entries([]int{n}); !ok {
		s.g.fail(full, "%d integers: at least 1 and at most 2^40 are needed", n)
	}
	if s.g.err != nil || !s.claim(full) {
		return Expr{g: s.g, scope: s.path}
	}
	x := s.leaf(full, tensor.New(tensor.WithShape(n), tensor.Of(tensor.Int)), []int{n})
	x.ids = &idRange{limit: limit, ignore: ignore}
	return s.g.addLeaf(x)
}

func (s Scope) leaf(full string, dense *tensor.Dense, shape []int) Expr {
	node := G.NewTensor(s.g.g, dense.Dtype(), dense.Dims(), G.WithShape(dense.Shape()...), G.WithName(s.g.salt+full), G.WithValue(dense))
	s.g.origin[node.ID()] = origin{scope: s.path}
	return Expr{g: s.g, scope: s.path, node: node, name: full, dense: dense, shape: shape}
}

func (g *Graph) addLeaf(x Expr) Expr { g.leaves = append(g.leaves, x); return x }

// claim refuses a name that is taken: Gorgonia merges two inputs of one name and shape without a word.
func (s Scope) claim(full string) bool {
	if s.g.names[full] {
		s.g.fail(full, "declared twice")
		return false
	}
	s.g.names[full] = true
	return true
}

// initialise gives t its first numbers, in chunks with generators of their own so that all threads can take part.
func (g *Graph) initialise(name string, t Tensor, init Init) {
	const chunk = 1 << 16
	key := hashName(name)
	g.pool.Range(t.Len(), chunk, func(from, to int) {
		rng := rand.New(rand.NewPCG(g.seed, key+uint64(from/chunk)))
		for i := from; i < to; i++ {
			t.Set(i, init(i, rng))
		}
	})
}

func hashName(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}
