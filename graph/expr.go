package graph

import (
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Expr is a symbolic value: a parameter, an input, or what an operation makes of others. Its methods build nodes of the
// graph and compute nothing. When building has failed, every Expr is empty, every method passes that on, and the first
// error comes out of Compile. So does that of the zero Expr, which is of no graph.
type Expr struct {
	g     *Graph
	scope string
	node  *G.Node

	name  string        // of a parameter or input
	dense *tensor.Dense // its numbers
	shape []int         // its shape to the outside
	ids   *idRange      // of integers
}

type idRange struct {
	limit, ignore int
	isLookup      bool // a row is looked up for every id, and the ignored one has none
}

// accepts reports whether a run may read the id.
func (r *idRange) accepts(id int) bool {
	return 0 <= id && id < r.limit || !r.isLookup && r.ignore != NoneIgnored && id == r.ignore
}

// check reports whether ids below the limit fit n rows or classes.
func (r *idRange) check(n int, what string) error {
	switch {
	case r == nil:
		return errors.New("integers declared by Ints are needed")
	case r.limit > n:
		return errors.Errorf("ids up to %d for %d %s", r.limit-1, n, what)
	}
	return nil
}

// Graph returns the graph that x belongs to.
func (x Expr) Graph() *Graph { return x.g }

// Name returns the full name of a parameter or input, "" for anything else.
func (x Expr) Name() string { return x.name }

// Shape returns the shape as the graph holds it; nil after a failure, so a layer takes its sizes from its own fields.
func (x Expr) Shape() []int {
	if x.node == nil {
		return nil
	}
	return x.node.Shape()
}

// Node returns the Gorgonia node, for operations that this package does not offer. Wrap brings the result back. After a
// failure it is a number of another graph, because Gorgonia's functions panic on nil; Wrap keeps the first error then.
func (x Expr) Node() *G.Node {
	if x.node == nil {
		return G.NewScalar(G.NewGraph(), Float64)
	}
	return x.node
}

const wrapped = "wrap" // as what Wrap makes nodes

// Wrap makes an Expr of a Gorgonia node of x's graph, or of the error in making it, under x's scope.
func (x Expr) Wrap(node *G.Node, err error) Expr {
	return x.try(wrapped, func() (*G.Node, error) { return node, err })
}

// Tensor returns the numbers of a parameter or input, to read and to write, on an Outline its shape alone; empty for
// anything else.
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

// Ints returns the backing of an input declared by Scope.Ints, to be overwritten in place; nil for anything else.
func (x Expr) Ints() []int {
	if x.ids == nil || x.dense == nil {
		return nil
	}
	return x.dense.Ints()
}

// count returns the number of integers that x declares.
func (x Expr) count() int {
	if x.ids == nil {
		return 0
	}
	return x.shape[0]
}

// Entries is how many numbers x has, the product of its sizes, in a float64, which they do not overflow.
func (x Expr) Entries() float64 { return entries(x.Shape()) }

// In says that what is computed from x from here on belongs to the layer at s: errors and pictures name it.
func (x Expr) In(s Scope) Expr {
	if x.g == nil {
		x.g = s.Graph()
	}
	x.g.pass(x, s.path)
	x.scope = s.path
	return x
}
