package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// forward calls f for every node of the forward pass in the order of creation.
func (g *Graph) forward(f func(n *G.Node, at source)) {
	for _, n := range g.g.AllNodes() {
		if at, ok := g.source[n.ID()]; ok {
			f(n, at)
		}
	}
}

// children returns the operands of n.
func (g *Graph) children(n *G.Node) (list G.Nodes) {
	for it := g.g.From(n.ID()); it.Next(); {
		list = append(list, it.Node().(*G.Node))
	}
	return list
}

// operands returns the nodes of the forward pass that n is computed from, each once.
func (g *Graph) operands(n *G.Node) (found []*G.Node) {
	seen := map[*G.Node]bool{}
	var visit func(n *G.Node)
	visit = func(n *G.Node) {
		for it := g.g.From(n.ID()); it.Next(); {
			child := it.Node().(*G.Node)
			if seen[child] {
				continue
			}
			seen[child] = true
			if _, ok := g.source[child.ID()]; ok {
				found = append(found, child)
			} else {
				visit(child)
			}
		}
	}
	visit(n)
	return found
}

// DependsOn reports whether x is computed from y, or is y itself. After a failure it reports true, since the error of
// the graph is the more specific one.
func (x Expr) DependsOn(y Expr) bool {
	if x.node == nil || y.node == nil {
		return true
	}
	_, operands := x.g.needed(G.Nodes{x.node})
	_, found := operands[y.node]
	return found
}

func (g *Graph) leafOf(n *G.Node) (Expr, bool) {
	i := slices.IndexFunc(g.leaves, func(x Expr) bool { return x.node == n })
	if i < 0 {
		return Expr{}, false
	}
	return g.leaves[i], true
}

func (g *Graph) trained(x Expr) bool {
	return slices.ContainsFunc(g.params, func(p Expr) bool { return p.node == x.node })
}

// needed returns the nodes that the roots depend on and the roots themselves, each after its operands, and the operands
// of each. They are in the order of their numbers, since Gorgonia numbers a node when it is created, after its
// operands.
func (g *Graph) needed(roots G.Nodes) (order G.Nodes, operands map[*G.Node]G.Nodes) {
	operands = map[*G.Node]G.Nodes{}
	for stack := slices.Clone(roots); len(stack) > 0; {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if _, seen := operands[n]; seen {
			continue
		}
		operands[n] = g.children(n)
		order, stack = append(order, n), append(stack, operands[n]...)
	}
	slices.SortFunc(order, func(a, b *G.Node) int { return cmp.Compare(a.ID(), b.ID()) })
	return order, operands
}

// scopes returns the scope of every node that out depends on. In order a node comes after its operands; a node without
// an Expr has the scope of the node computed from it.
func (g *Graph) scopes(order G.Nodes, operands map[*G.Node]G.Nodes, out *G.Node) map[*G.Node]string {
	scopes := map[*G.Node]string{out: g.source[out.ID()].scope}
	for _, n := range slices.Backward(order) {
		scope, forward := scopes[n]
		if !forward {
			continue
		}
		for _, c := range operands[n] {
			if at, known := g.source[c.ID()]; known {
				scopes[c] = at.scope
			} else if _, seen := scopes[c]; !seen {
				scopes[c] = scope
			}
		}
	}
	return scopes
}

// describeOp returns the name that errors use for the operation of a node.
func describeOp(scope string, at source, op G.Op) string {
	if at.op == "" || at.op == wrapped {
		return prefix(scope) + fmt.Sprint(op)
	}
	return prefix(scope) + at.op
}

const wrapped = "wrap" // the operation recorded for nodes from Wrap

// source returns the scope that a leaf was declared in.
func (x Expr) source() string { return x.g.source[x.node.ID()].scope }

// NoneIgnored is the ignore argument of Scope.Ints if every id counts.
const NoneIgnored = math.MinInt

// idRange is the range in which the integers of an input must lie.
type idRange struct {
	limit, ignore int
	isLookup      bool // a row is looked up for every id, so no id may be ignored
	computed      bool // by an operation, not declared by Ints
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
