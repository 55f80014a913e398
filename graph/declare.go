package graph

import (
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

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
	if s.g.err != nil || !s.reserve(full) {
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
	if s.g.err != nil || !s.reserve(full) {
		return Expr{g: s.g, scope: s.path}
	}
	x := s.leaf(full, tensor.New(tensor.WithShape(n), tensor.Of(tensor.Int)), []int{n})
	x.ids = &idRange{limit: limit, ignore: ignore}
	return s.g.addLeaf(x)
}

func (s Scope) leaf(full string, dense *tensor.Dense, shape []int) Expr {
	node := G.NewTensor(s.g.g, dense.Dtype(), dense.Dims(), G.WithShape(dense.Shape()...),
		G.WithName(s.g.salt+full), G.WithValue(dense))
	s.g.source[node.ID()] = source{scope: s.path}
	return Expr{g: s.g, scope: s.path, node: node, name: full, dense: dense, shape: shape}
}

func (g *Graph) addLeaf(x Expr) Expr { g.leaves = append(g.leaves, x); return x }

// reserve refuses a name that is taken: Gorgonia merges two inputs of one name and shape without a word.
func (s Scope) reserve(full string) bool {
	if s.g.names[full] {
		s.g.fail(full, "declared twice")
		return false
	}
	s.g.names[full] = true
	return true
}
