package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	G "gorgonia.org/gorgonia"
)

// Graph returns the graph that x belongs to.
func (x Expr) Graph() *Graph { return x.g }

// Name returns the full name of a parameter or input, "" for anything else.
func (x Expr) Name() string { return x.name }

// Shape returns the shape as the graph stores it. It returns nil after a failure, so a layer takes its sizes from its
// own fields.
func (x Expr) Shape() []int {
	if x.node == nil {
		return nil
	}
	return x.node.Shape()
}

// Node returns the Gorgonia node, for operations that this package does not offer. Wrap turns the result back into an
// Expr. After a failure Node returns a number of another graph, because Gorgonia's functions panic on nil; Wrap then
// keeps the first error.
func (x Expr) Node() *G.Node {
	if x.node == nil {
		return G.NewScalar(G.NewGraph(), Float64)
	}
	x.store()
	return x.node
}

// Wrap returns an Expr for a Gorgonia node of x's graph, under x's scope. It takes the two results of a Gorgonia
// function, and a non-nil err becomes the error of the graph.
func (x Expr) Wrap(node *G.Node, err error) Expr {
	return x.try(wrapped, func() (*G.Node, error) { return node, err })
}

// Tensor returns the numbers of a parameter or input, for reading and writing. On an Outline it has only a shape. It is
// empty for any other expression.
func (x Expr) Tensor() Tensor {
	dense := x.dense
	if x.rule != nil {
		x.store()
		dense = x.rule.dense
	}
	switch {
	case x.ids != nil:
		return Tensor{}
	case dense == nil:
		return Tensor{Shape: x.shape}
	}
	t := view(dense)
	t.Shape = x.shape
	return t
}

// Ints returns the numbers of an input declared by Scope.Ints, to be overwritten in place; nil for any other
// expression.
func (x Expr) Ints() []int {
	if x.ids == nil || x.dense == nil {
		return nil
	}
	return x.dense.Ints()
}

// count returns the number of integers that x holds.
func (x Expr) count() int {
	if x.ids == nil {
		return 0
	}
	return x.shape[0]
}

// list returns the integers of x for an operation.
func (x Expr) list() ops.IDs { return ops.IDs{Node: x.node, List: x.Ints()} }

// lookUp returns an error unless the integers of x are indices of n rows, which an operation looks up.
func (x Expr) lookUp(n int, what string) error {
	if err := x.ids.check(n, what); err != nil {
		return err
	}
	x.neverIgnored()
	return nil
}

// neverIgnored makes a run fail on an ignored id.
func (x Expr) neverIgnored() {
	if x.ids == nil {
		return
	}
	if x.ids.isLookup = true; x.ids.computed && x.ids.ignore != NoneIgnored {
		x.g.fail(x.scope, "a row is looked up for every id, and Advance ignores some")
	}
}

// Entries returns the number of entries of x, the product of its sizes. It is a float64 so that it cannot overflow.
func (x Expr) Entries() float64 { return entries(x.Shape()) }
