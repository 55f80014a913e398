package graph

import (
	"math"
	"slices"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Param declares a trainable tensor under the scope's name. A vector of d entries is held as (1, d), and its Tensor has
// shape (d).
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

// Value declares a tensor that is fed through Tensor, not trained.
func (s Scope) Value(name string, init Init, shape ...int) Expr {
	s.g = s.Graph()
	return s.declare(name, init, nil, shape)
}

// declare makes a leaf. A panic of init's is an error of that name.
func (s Scope) declare(name string, init Init, store map[string]*tensor.Dense, shape []int) Expr {
	full := s.full(name)
	failed := Expr{g: s.g, scope: s.path}
	switch {
	case init == nil:
		s.g.fail(full, "no Init: Const, Normal or one of your own gives the first numbers")
	case len(shape) == 0:
		s.g.fail(full, "no shape: at least one size is needed")
	case slices.Min(shape) < 1 || !s.g.outline && !fits(entries(shape)):
		s.g.fail(full, "shape %v: every size must be positive and the whole at most 2^40 entries", tensor.Shape(shape))
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
	case !s.g.hold(full, shape, s.g.dtype.Size()):
		return failed
	case s.g.outline:
		return s.g.addLeaf(s.leaf(full, nil, s.g.dtype, held, shape))
	}
	dense, shared := store[full]
	if shared && !dense.Shape().Eq(tensor.Shape(held)) {
		s.g.fail(full, "shape %v, but the shared parameter has %v", held, dense.Shape())
		return failed
	}
	if !shared {
		dense = newDense(s.g.dtype, held...)
		blank := s.g.blank != nil && store != nil && s.g.blank(full)
		if !blank && !(Scope{s.g, full}).Try(func() { s.g.initialise(full, view(dense), init) }) {
			return failed
		}
		if store != nil {
			store[full] = dense
		}
	}
	return s.g.addLeaf(s.leaf(full, dense, s.g.dtype, held, shape))
}

// NoneIgnored is the ignored id of Scope.Ints where every id counts.
const NoneIgnored = math.MinInt

// Ints declares n integers, such as token ids, that are fed through Ints. limit is the number of values that they may
// take: a run refuses an id outside 0 … limit−1. ignore is an id outside that range that is accepted as well; a loss
// and OneHot leave its row out, and where a row is looked up for every id it is refused. NoneIgnored accepts no other
// id. An ignored id inside the range is an error, because the same id cannot both count and be left out.
func (s Scope) Ints(name string, n, limit, ignore int) Expr {
	s.g = s.Graph()
	full := s.full(name)
	if n < 1 || int64(n) > 1<<40 {
		s.g.fail(full, "%d integers: at least 1 and at most 2^40 are needed", n)
	}
	if 0 <= ignore && ignore < limit {
		s.g.fail(full, "the ignored id is %d, want one outside 0 … %d, or NoneIgnored", ignore, limit-1)
	}
	if s.g.err != nil || !s.reserve(full) || !s.g.hold(full, []int{n}, tensor.Int.Size()) {
		return Expr{g: s.g, scope: s.path}
	}
	var dense *tensor.Dense
	if !s.g.outline {
		dense = tensor.New(tensor.WithShape(n), tensor.Of(tensor.Int))
	}
	x := s.leaf(full, dense, tensor.Int, []int{n}, []int{n})
	x.ids = &idRange{limit: limit, ignore: ignore}
	return s.g.addLeaf(x)
}

// leaf returns the node of what is held in one shape and has another to the outside. Without numbers it has no value.
func (s Scope) leaf(full string, dense *tensor.Dense, dtype Dtype, held, shape []int) Expr {
	with := []G.NodeConsOpt{G.WithShape(held...), G.WithName(s.g.salt + full)}
	if dense != nil {
		with = append(with, G.WithValue(dense))
	}
	node := G.NewTensor(s.g.g, dtype, len(held), with...)
	s.g.source[node.ID()] = source{scope: s.path}
	return Expr{g: s.g, scope: s.path, node: node, name: full, dense: dense, shape: shape}
}

func (g *Graph) addLeaf(x Expr) Expr { g.leaves = append(g.leaves, x); return x }

// reserve refuses a name that is taken: Gorgonia merges two inputs of one name and shape without a word.
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
