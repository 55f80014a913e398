package graph

import (
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

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
}

type idRange struct {
	limit, ignore int
	isLookup      bool // a row is looked up for every id, so no id may be ignored
}

// accepts reports whether the id is valid in a run.
func (r *idRange) accepts(id int) bool {
	return 0 <= id && id < r.limit || !r.isLookup && r.ignore != NoneIgnored && id == r.ignore
}

// check returns an error unless ids below the limit are indices of n rows or classes.
func (r *idRange) check(n int, what string) error {
	switch {
	case r == nil:
		return errors.New("want integers declared by Ints")
	case r.limit > n:
		return errors.Errorf("ids up to %d for %d %s", r.limit-1, n, what)
	}
	return nil
}

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
	return x.node
}

const wrapped = "wrap" // the operation recorded for nodes from Wrap

// Wrap returns an Expr for a Gorgonia node of x's graph, under x's scope. It takes the two results of a Gorgonia
// function, and a non-nil err becomes the error of the graph.
func (x Expr) Wrap(node *G.Node, err error) Expr {
	return x.try(wrapped, func() (*G.Node, error) { return node, err })
}

// Tensor returns the numbers of a parameter or input, for reading and writing. On an Outline it has only a shape. It is
// empty for any other expression.
func (x Expr) Tensor() Tensor {
	switch {
	case x.ids != nil:
		return Tensor{}
	case x.dense == nil:
		return Tensor{Shape: x.shape}
	}
	t := view(x.dense)
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

// Entries returns the number of entries of x, the product of its sizes. It is a float64 so that it cannot overflow.
func (x Expr) Entries() float64 { return entries(x.Shape()) }

// In returns x for use in the layer at s: errors and pictures name that layer for everything computed from the result.
func (x Expr) In(s Scope) Expr {
	if x.g == nil {
		x.g = s.Graph()
	}
	x.g.pass(x, s.path)
	x.scope = s.path
	return x
}
