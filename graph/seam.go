package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// This file is the seam between expressions and the packages of operations above this one, such as graph/fused, whose
// page says what a back end provides. Some of its functions take types of graph/internal/ops, so only packages inside
// graph can call them.

// Kernel returns an operation on x and the others in place of their equation, under a name for errors and pictures.
// build adds it to the graph, once all operands are there; empty ones are left out of the list. If kernels may not
// replace equations, in the entire Graph or at x's scope, ok is false. The kernel of an equation is a function
// X(…) (y Expr, ok bool), which a layer tries first:
//
//	if y, ok := fused.X(…); ok {
//		return y
//	}
func (x Expr) Kernel(
	name string, build func(b *ops.Builder) (*G.Node, error), others ...Expr,
) (y Expr, ok bool) {
	return x.kernel(name, x.built(build), others...)
}

// Operate is Kernel for an operation that stands for no equation, such as a step that continues a cache.
func (x Expr) Operate(name string, build func(b *ops.Builder) (*G.Node, error), others ...Expr) Expr {
	return x.apply(name, x.built(build), others...)
}

// built returns the function that builds a node on x's graph.
func (x Expr) built(build func(b *ops.Builder) (*G.Node, error)) func() (*G.Node, error) {
	return func() (*G.Node, error) {
		if build == nil {
			return nil, errors.New("got no function that builds the operation")
		}
		node, err := build(x.g.ops)
		if node == nil && err == nil {
			err = errors.New("the operation was not built")
		}
		return node, err
	}
}

// OperateInts is Operate for an operation with a result of integers in 0 … limit−1, one for each row of x. It also
// writes them to list in every run; list is nil on an Outline. None may be ignored.
func (x Expr) OperateInts(
	name string, limit int, build func(b *ops.Builder, list []int) (*G.Node, error), others ...Expr,
) Expr {
	return x.computed(name, func(list []int) (*G.Node, idRange, error) {
		if build == nil {
			return nil, idRange{}, errors.New("got no function that builds the operation")
		}
		node, err := build(x.g.ops, list)
		if node == nil && err == nil {
			err = errors.New("the operation was not built")
		}
		return node, idRange{limit: limit, ignore: NoneIgnored, computed: true}, err
	}, others...)
}

// Operand returns the node of x as it is stored, for a Builder; nil if x is empty. Node, for Gorgonia's functions,
// stores the rows of a Rule first.
func (x Expr) Operand() *G.Node { return x.node }

// Integers returns the number of integers that x holds, the limit below which they lie, and the ignored one. The number
// is 0 if x was not declared by Ints.
func (x Expr) Integers() (n, limit, ignored int) {
	if x.ids == nil {
		return 0, 0, NoneIgnored
	}
	return x.count(), x.ids.limit, x.ids.ignore
}

// IDs returns the integers of x for an operation.
func (x Expr) IDs() ops.IDs { return x.list() }

// CheckIDs returns an error unless x holds integers that are indices of n things, such as rows or classes.
func (x Expr) CheckIDs(n int, things string) error { return x.ids.check(n, things) }

// RequireIDs makes a run fail on an ignored integer of x, for an operation that needs every one.
func (x Expr) RequireIDs() { x.neverIgnored() }

// ByRule returns x for an operation that reads the rows of a Rule that it needs, so that x is not stored.
func (x Expr) ByRule() Expr { return x.byRule() }

// Reserve counts the memory of the first rows of a Rule, up to n. It returns an error if that exceeds the limit.
func (x Expr) Reserve(n int) error { return x.reserve(n) }

// Drop returns the dropout of the operation at a place in x's scope, such as "attn_dropout".
func (x Expr) Drop(place string, p float64) (ops.Drop, error) {
	if !x.g.exists() {
		return ops.Drop{}, errForeign
	}
	return x.g.drop(prefixed(x.scope, place), p)
}

// Weights returns the weights of the parameter x if its graph stores them packed, so that a product with x, or with its
// transpose, reads them instead of an operand.
func (x Expr) Weights(transposed bool) (w Weights, ok bool) {
	m := x.g.packed(x)
	if m == nil || m.transposed != transposed {
		return nil, false
	}
	return m.Weights, true
}

// Multiplied records that the kernel of a product multiplies by the parameter x or by its transpose, so that Packed may
// pack it.
func (x Expr) Multiplied(transposed bool) {
	if x.g.exists() && x.name != "" {
		if _, known := x.g.multiplied[x.name]; !known {
			x.g.multiplied[x.name] = transposed
		}
	}
}

// LookedUp records that a kernel looks up rows of the parameter x.
func (x Expr) LookedUp() {
	if x.g.exists() && x.name != "" {
		x.g.lookedUp[x.name] = true
	}
}
