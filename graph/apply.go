package graph

import (
	"fmt"
	"strings"

	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

var errForeign = errors.New("an operand is empty or belongs to another graph")

// kernel returns the operation of a kernel on x and with: see Kernel.
func (x Expr) kernel(name string, make func() (*G.Node, error), with ...Expr) (y Expr, ok bool) {
	if x.g == nil || !x.g.Kernels || x.g.places.equations[x.scope] {
		return Expr{}, false
	}
	return x.apply(name, make, with...), true
}

func nodes(list ...Expr) G.Nodes {
	n := make(G.Nodes, len(list))
	for i, x := range list {
		n[i] = x.node
	}
	return n
}

// apply returns the result of an operation on x and with; make builds its node.
func (x Expr) apply(op string, make func() (*G.Node, error), with ...Expr) Expr {
	return x.try(op, func() (*G.Node, error) {
		node, err := make()
		if err == nil && !x.g.ops.Outline && x.g.merged(node, append([]Expr{x}, with...)) {
			err = errCollision
		}
		return node, err
	}, with...)
}

// try is the only place where an operation can fail. It records errors in the graph and turns Gorgonia's panics into
// errors. If x has no graph, or an operand's graph has failed, the error is recorded in the graph of the result.
func (x Expr) try(op string, make func() (*G.Node, error), with ...Expr) (y Expr) {
	operands := append([]Expr{x}, with...)
	for _, e := range with { // an empty receiver takes the graph of an operand
		if x.g == nil {
			x.g, x.scope = e.g, e.scope
		}
	}
	if x.g == nil {
		x.g = New(Float64, 0)
	}
	y = Expr{g: x.g, scope: x.scope}
	if x.g.err != nil || x.g.interrupted() != nil {
		return y
	}
	for _, e := range operands {
		switch {
		case e.g != nil && e.g.err != nil:
			x.g.err = e.g.err
			return y
		case e.node == nil || e.g != x.g:
			x.g.failOp(x, op, operands, errForeign)
			return y
		}
		if e.store(); x.g.err != nil {
			return y
		}
	}
	building.Lock()
	defer building.Unlock()
	defer func() {
		if r := recover(); r != nil {
			x.g.failOp(x, op, operands, errors.Errorf("%v", r))
			y.node = nil
		}
	}()
	node, err := make()
	if err != nil {
		x.g.failOp(x, op, operands, err)
		return y
	}
	if _, seen := x.g.source[node.ID()]; !seen {
		x.g.source[node.ID()] = source{x.scope, op}
	}
	y.node = node
	return y
}

// merged reports whether Gorgonia returned an existing node with other operands instead of a new one: it treats two
// stock operations of the same kind, shape and 32-bit hash as equal, and returns the first for the second.
func (g *Graph) merged(node *G.Node, operands []Expr) bool {
	missing := map[*G.Node]bool{}
	for _, e := range operands {
		missing[e.node] = true
	}
	seen, foreign := map[*G.Node]bool{}, false
	var visit func(n *G.Node)
	visit = func(n *G.Node) {
		switch at, known := g.source[n.ID()]; {
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

// failOp records an operation that could not be built.
func (g *Graph) failOp(x Expr, op string, operands []Expr, cause error) {
	if g.err == nil {
		g.failed = &failedOp{x.scope, op + " " + describe(operands), cause}
		g.err = g.failed.errorAt(x.scope)
	}
}
