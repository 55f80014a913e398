package graph

import (
	"math/rand/v2"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Param declares a trainable tensor under the scope's name. The number of sizes declares what it is: one size is a
// vector, such as a gain or a bias, which no optimizer decays or takes for a matrix. A vector of d entries is stored as
// (1, d), but its Tensor has shape (d).
func (s Scope) Param(name string, init Init, shape ...int) Expr {
	s.g = s.Graph()
	s.g.store.Lock()
	defer s.g.store.Unlock()
	x := s.declare(name, init, s.g.store.params, shape)
	if x.name != "" {
		s.g.params = append(s.g.params, x)
	}
	return x
}

// Table declares a parameter (rows, width) of which rows are looked up: no token is multiplied by it.
func (s Scope) Table(name string, init Init, rows, width int) Expr {
	x := s.Param(name, init, rows, width)
	if x.name != "" {
		x.g.tables[x.name] = true
	}
	return x
}

// IsTable reports whether x was declared by Table.
func (x Expr) IsTable() bool { return x.g.exists() && x.g.tables[x.name] }

// PackColumns declares that the parameter x holds several matrices side by side, such as queries, keys and values. The
// widths are their numbers of columns. An optimizer of entire matrices updates each of them separately.
func (x Expr) PackColumns(widths ...int) {
	sum, positive := 0, true
	for _, w := range widths {
		sum, positive = sum+w, positive && w > 0
	}
	switch {
	case !x.g.exists():
	case x.name == "":
		x.g.fail(x.scope, "matrices of %v columns side by side: want a parameter", widths)
	case len(x.shape) != 2 || sum != x.shape[1] || !positive:
		x.g.fail(x.name, "matrices of %v columns side by side, in shape %v", widths, tensor.Shape(x.shape))
	case len(widths) > 1:
		x.g.columns[x.name] = slices.Clone(widths)
	}
}

// PackedColumns returns the widths that PackColumns has declared, or nil if x is a single matrix.
func (x Expr) PackedColumns() []int {
	if !x.g.exists() {
		return nil
	}
	return slices.Clone(x.g.columns[x.name])
}

// Value declares a tensor that is not trained; the caller writes its numbers through Tensor.
func (s Scope) Value(name string, init Init, shape ...int) Expr {
	s.g = s.Graph()
	return s.declare(name, init, nil, shape)
}

// Rule computes the rows of a tensor that need not be stored, such as a mask. Several goroutines call it at the same
// time. A Rule may also be a Spanned.
type Rule interface {
	// Row overwrites into, which has no Shape, with the entries of row i from column from on. The rows of all axes but
	// the last are counted one after the other.
	Row(i, from int, into Tensor)
}

// Spanned is the Rule of a mask that need not compute a row to know where it is hidden.
type Spanned interface {
	Rule
	// Span returns the columns from … to−1 in which row i is 0, if it is −∞ in all others. Otherwise, or if only
	// computing the row would tell, ok is false.
	Span(i int) (from, to int, ok bool)
}

// Rule declares a tensor that is not trained and whose rows r computes. The kernels of attention and the lookups of
// positions read its rows as they need them, so that its memory does not depend on its shape. Any other operation, and
// Tensor, stores all its numbers first.
func (s Scope) Rule(name string, r Rule, shape ...int) Expr {
	s.g = s.Graph()
	full := s.full(name)
	switch {
	case r == nil:
		s.g.fail(full, "no Rule that computes the rows")
	case len(shape) < 2 || slices.Min(shape) < 1:
		s.g.fail(full, "shape %v: want two sizes or more, all positive", tensor.Shape(shape))
	}
	if s.g.err != nil || s.g.interrupted() != nil || !s.reserve(full) {
		return Expr{g: s.g, scope: s.path}
	}
	x := s.leaf(full, nil, s.g.ops.Dtype, shape, shape)
	var span func(i int) (from, to int, ok bool)
	if spanned, ok := r.(Spanned); ok {
		span = spanned.Span
	}
	x.rule = &ruled{Rule: ops.NewRule(shape, func(i, from int, into plan.Numbers) {
		r.Row(i, from, Tensor{F32: into.F32, F64: into.F64})
	}, span)}
	x.rule.Hold = func(rows int) error { return x.hold(rows) }
	s.g.ops.SetRule(x.node, x.rule.Rule)
	return s.g.addLeaf(x)
}

// Stored returns the number of entries of a parameter or value for which the graph has memory. Of a Rule, these are the
// rows that operations have needed so far.
func (x Expr) Stored() float64 {
	switch {
	case x.name == "" || x.ids != nil:
		return 0
	case x.rule != nil:
		return float64(x.rule.held) * float64(x.shape[len(x.shape)-1])
	}
	return x.Entries()
}

// ruled is the state of a leaf that a Rule computes.
type ruled struct {
	*ops.Rule
	held  int // number of rows for which memory is counted
	dense *tensor.Dense
}

// hold counts the memory of the given number of rows.
func (x Expr) hold(rows int) error {
	if rows <= x.rule.held {
		return nil
	}
	row := x.shape[len(x.shape)-1] * int(x.g.ops.Dtype.Size())
	bytes := float64(float64(rows-x.rule.held) * float64(row))
	if err := x.g.allows(bytes); err != nil {
		return errors.Wrapf(err, "%s: %d rows of shape %v", x.name, rows, tensor.Shape(x.shape))
	}
	x.g.held += bytes
	x.rule.held = rows
	return nil
}

// byRule returns x for an operation that reads the rows that it needs.
func (x Expr) byRule() Expr {
	x.rule = nil
	return x
}

// reserve counts the memory of the rows that an operation computes when it looks up n, if a Rule computes them.
func (x Expr) reserve(n int) error {
	if x.rule == nil || x.rule.dense != nil {
		return nil
	}
	return x.hold(ops.RoomFor(n, x.rule.Rule))
}

// store computes all numbers of x and keeps them, if a Rule computes them.
func (x Expr) store() {
	if x.rule == nil || x.rule.dense != nil || x.g.err != nil {
		return
	}
	if n := entries(x.shape); !x.g.ops.Outline && !fits(n) {
		x.g.fail(x.name, "shape %v: the product of the sizes must be at most 2^40", tensor.Shape(x.shape))
		return
	}
	if err := x.hold(x.rule.Rows()); err != nil {
		x.g.fail("", "%v", err)
	}
	if x.g.err != nil || x.g.ops.Outline {
		return
	}
	dense := newDense(x.g.ops.Dtype, x.shape...)
	if !(Scope{x.g, x.name}).Try(func() { x.rule.write(x.g, dense) }) {
		return
	}
	x.rule.dense, x.rule.Stored = dense, ops.NumbersOf(dense)
	G.WithValue(dense)(x.node)
}

func (r *ruled) write(g *Graph, dense *tensor.Dense) {
	n := ops.NumbersOf(dense)
	if n.F32 != nil {
		ops.Write(g.ops.Pool, r.Rule, 0, r.Rows(), n.F32)
	} else {
		ops.Write(g.ops.Pool, r.Rule, 0, r.Rows(), n.F64)
	}
}

// Refresh makes operations read the rows of a Rule again, after what they depend on has changed. It does nothing for
// other expressions.
func (x Expr) Refresh() {
	if x.rule == nil {
		return
	}
	if x.rule.Changed(); x.rule.dense != nil {
		x.rule.write(x.g, x.rule.dense)
	}
}

// declare adds a leaf to the graph. A panic of init becomes an error with the leaf's name.
func (s Scope) declare(name string, init Init, store map[string]*tensor.Dense, shape []int) Expr {
	full := s.full(name)
	failed := Expr{g: s.g, scope: s.path}
	switch {
	case init == nil:
		s.g.fail(full, "no Init: use Const, Normal or your own function for the initial values")
	case len(shape) == 0:
		s.g.fail(full, "no shape, want at least one size")
	case slices.Min(shape) < 1 || !s.g.ops.Outline && !fits(entries(shape)):
		s.g.fail(full, "shape %v: every size must be positive and their product at most 2^40", tensor.Shape(shape))
	}
	held := shape
	if len(shape) == 1 {
		held = []int{1, shape[0]}
	}
	switch {
	case s.g.err != nil || s.g.interrupted() != nil || !s.reserve(full):
		return failed
	case store != nil && s.g.store.packed[full] != nil:
		return s.packed(full, shape)
	case !s.g.hold(full, shape, s.g.ops.Dtype.Size()):
		return failed
	case s.g.ops.Outline:
		return s.g.addLeaf(s.leaf(full, nil, s.g.ops.Dtype, held, shape))
	}
	dense, shared := store[full]
	if shared && !dense.Shape().Eq(tensor.Shape(held)) {
		s.g.fail(full, "shape %v, but the shared parameter has %v", held, dense.Shape())
		return failed
	}
	if !shared {
		dense = newDense(s.g.ops.Dtype, held...)
		blank := s.g.blank != nil && store != nil && s.g.blank(full)
		if !blank && !(Scope{s.g, full}).Try(func() { s.g.initialise(full, view(dense), init) }) {
			return failed
		}
		if store != nil {
			store[full] = dense
		}
	}
	return s.g.addLeaf(s.leaf(full, dense, s.g.ops.Dtype, held, shape))
}

// Ints declares n integers, such as token ids; the caller writes them through Expr.Ints. The ids lie in 0 … limit−1,
// and a run fails on any other id. The only exception is ignore, an id outside that range: losses and OneHot leave its
// row out, but looking up a row for it is an error. NoneIgnored accepts no other id. An ignored id inside the range is
// an error, because the same id cannot both count and be left out.
func (s Scope) Ints(name string, n, limit, ignore int) Expr {
	s.g = s.Graph()
	full := s.full(name)
	if n < 1 || int64(n) > 1<<40 {
		s.g.fail(full, "got %d integers, want at least 1 and at most 2^40", n)
	}
	if 0 <= ignore && ignore < limit {
		s.g.fail(full, "the ignored id is %d, want one outside 0 … %d, or NoneIgnored", ignore, limit-1)
	}
	if s.g.err != nil || !s.reserve(full) || !s.g.hold(full, []int{n}, tensor.Int.Size()) {
		return Expr{g: s.g, scope: s.path}
	}
	var dense *tensor.Dense
	if !s.g.ops.Outline {
		dense = tensor.New(tensor.WithShape(n), tensor.Of(tensor.Int))
	}
	x := s.leaf(full, dense, tensor.Int, []int{n}, []int{n})
	x.ids = &idRange{limit: limit, ignore: ignore}
	return s.g.addLeaf(x)
}

// leaf returns the node of a tensor that is stored in the shape held and has the given shape to the outside. Without
// numbers (dense is nil) the node has no value.
func (s Scope) leaf(full string, dense *tensor.Dense, dtype Dtype, held, shape []int) Expr {
	with := []G.NodeConsOpt{G.WithShape(held...), G.WithName(s.g.ops.Salt + full)}
	if dense != nil {
		with = append(with, G.WithValue(dense))
	}
	node := G.NewTensor(s.g.g, dtype, len(held), with...)
	s.g.source[node.ID()] = source{scope: s.path}
	return Expr{g: s.g, scope: s.path, node: node, name: full, dense: dense, shape: shape}
}

func (g *Graph) addLeaf(x Expr) Expr { g.leaves = append(g.leaves, x); return x }

// reserve records a name and reports whether it was free. A name in use is an error of the graph, because Gorgonia
// silently merges two inputs of one name and shape.
func (s Scope) reserve(full string) bool {
	switch {
	case full == "":
		s.g.fail("", "a parameter or input without a name")
		return false
	case s.g.names[full]:
		s.g.fail(full, "declared twice")
		return false
	}
	s.g.names[full] = true
	return true
}

// Init returns the initial value of entry i of a parameter or value. The generator rng is seeded by the Graph's seed
// and the full name. Several goroutines call an Init at the same time.
type Init func(i int, rng *rand.Rand) float64

// Const returns an Init that gives every entry the number x.
func Const(x float64) Init { return func(int, *rand.Rand) float64 { return x } }

// Normal returns an Init that draws from N(0, std²).
func Normal(std float64) Init {
	return func(_ int, rng *rand.Rand) float64 { return std * elementary.Normal(rng) }
}

// initialise fills t with initial values, in chunks with one generator each, so that all threads can take part.
func (g *Graph) initialise(name string, t Tensor, init Init) {
	const chunk = 1 << 16
	key := hashName(name)
	g.ops.Pool.Range(t.Len(), chunk, func(from, to int) {
		defer func() {
			if r := recover(); r != nil { // here the stack still contains init's line
				panic(Panicked(r))
			}
		}()
		rng := rand.New(rand.NewPCG(g.seed, key+uint64(from/chunk)))
		for i := from; i < to; i++ {
			t.Set(i, init(i, rng))
		}
	})
}

// packed declares a packed parameter.
func (s Scope) packed(full string, shape []int) Expr {
	m := s.g.store.packed[full]
	if want := m.shape(); !slices.Equal(shape, want) {
		s.g.fail(full, "shape %v, but the shared parameter has %v", shape, want)
	}
	if s.g.err != nil || !s.g.hold(full, []int{m.Bytes()}, 1) {
		return Expr{g: s.g, scope: s.path}
	}
	return s.g.addLeaf(s.leaf(full, nil, s.g.ops.Dtype, shape, shape))
}
