package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Expr is a symbolic value: a parameter, an input, or what an operation makes of others. Its methods build nodes of the
// graph and compute nothing. When building has failed, every Expr is empty and every method passes that on.
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
	looked        bool // a row is looked up for every id, and the ignored one has none
}

// check says whether ids below the limit fit n rows or classes.
func (r *idRange) check(n int, what string) error {
	switch {
	case r == nil:
		return errors.New("integers declared by Ints are needed")
	case r.limit > n:
		return errors.Errorf("ids up to %d for %d %s", r.limit-1, n, what)
	}
	return nil
}

// Graph is the graph that x belongs to.
func (x Expr) Graph() *Graph { return x.g }

// Name is the full name of a parameter or input, "" for anything else.
func (x Expr) Name() string { return x.name }

// Shape is the shape as the graph holds it; nil after a failure, so a layer takes its sizes from its own fields. On an
// Outline it is the declared one.
func (x Expr) Shape() []int {
	if x.node == nil {
		return slices.Clone(x.shape)
	}
	return x.node.Shape().Clone()
}

// Node is the Gorgonia node, for operations that this package does not offer; nil after a failure. Wrap brings the
// result back.
func (x Expr) Node() *G.Node { return x.node }

// Wrap makes an Expr of a Gorgonia node of x's graph, or of the error in making it, under x's scope.
func (x Expr) Wrap(node *G.Node, err error) Expr {
	return x.try("wrap", func() (*G.Node, error) { return node, err })
}

// Tensor is the numbers of a parameter or input, to read and to write; empty for anything else.
func (x Expr) Tensor() Tensor {
	if x.dense == nil {
		return Tensor{}
	}
	t := view(x.dense)
	t.Shape = x.shape
	return t
}

// Ints is the backing of an input declared by Scope.Ints, to be overwritten in place; nil for anything else.
func (x Expr) Ints() []int {
	if x.ids == nil {
		return nil
	}
	return x.dense.Ints()
}

// In says that what is computed from x from here on belongs to the layer at s: errors and pictures name it.
func (x Expr) In(s Scope) Expr {
	if x.g == nil {
		x.g = s.g
	}
	x.scope = s.path
	if _, seen := x.g.entered[s.path]; !seen && x.node != nil {
		x.g.entered[s.path] = x
	}
	return x
}

// apply makes the node of an operation on x and others.
func (x Expr) apply(op string, make func() (*G.Node, error), with ...Expr) Expr {
	return x.try(op, func() (*G.Node, error) {
		node, err := make()
		if err == nil && x.g.merged(node, append([]Expr{x}, with...)) {
			err = errCollision
		}
		return node, err
	}, with...)
}

// try is the only place where an operation can fail: errors stick to the graph, Gorgonia's panics become errors.
func (x Expr) try(op string, make func() (*G.Node, error), with ...Expr) (y Expr) {
	operands := append([]Expr{x}, with...)
	for _, e := range with { // an empty receiver has no graph to tell
		if x.g == nil {
			x.g, x.scope = e.g, e.scope
		}
	}
	y = Expr{g: x.g, scope: x.scope}
	if x.g == nil || x.g.err != nil || x.g.outline {
		return y
	}
	for _, e := range operands {
		if e.node == nil || e.g != x.g {
			x.g.fail(x.scope, "%s %s: an operand is empty or of another graph", op, describe(operands))
			return y
		}
	}
	building.Lock()
	defer building.Unlock()
	defer func() {
		if r := recover(); r != nil {
			x.g.fail(x.scope, "%s %s: %v", op, describe(operands), r)
			y.node = nil
		}
	}()
	node, err := make()
	if err != nil {
		x.g.err = errors.Wrapf(errors.Cause(err), "%s%s %s", prefix(x.scope), op, describe(operands))
		return y
	}
	if _, seen := x.g.origin[node.ID()]; !seen {
		x.g.origin[node.ID()] = origin{x.scope, op}
	}
	y.node = node
	return y
}

// merged says whether node is one of other operands: Gorgonia takes two stock operations of the same kind, shape and
// 32-bit hash for one, and returns the first for the second.
func (g *Graph) merged(node *G.Node, operands []Expr) bool {
	missing := map[*G.Node]bool{}
	for _, e := range operands {
		missing[e.node] = true
	}
	seen, foreign := map[*G.Node]bool{}, false
	var visit func(n *G.Node)
	visit = func(n *G.Node) {
		switch at, known := g.origin[n.ID()]; {
		case seen[n]:
			return
		case missing[n]:
			delete(missing, n)
			seen[n] = true
			return
		case known && at.leaf():
			foreign = true
		}
		seen[n] = true
		for it := g.g.From(n.ID()); it.Next(); {
			visit(it.Node().(*G.Node))
		}
	}
	visit(node)
	return foreign || len(missing) > 0
}

func describe(operands []Expr) string {
	parts := make([]string, len(operands))
	for i, e := range operands {
		shape := "()"
		if e.shape != nil {
			shape = fmt.Sprint(tensor.Shape(e.shape))
		} else if e.node != nil {
			shape = fmt.Sprint(e.node.Shape())
		}
		if parts[i] = shape; e.name != "" {
			parts[i] = e.name + " " + shape
		}
	}
	return strings.Join(parts, ", ")
}
