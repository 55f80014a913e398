package graph

import (
	"slices"
	"strings"

	G "gorgonia.org/gorgonia"
)

// source is the scope and the operation that created a node. Helper nodes of an operation, such as the axes stretched
// for a broadcast, and the backward pass have none: the nodes with a source are the forward pass in terms of Expr.
type source struct{ scope, op string }

func (s source) leaf() bool { return s.op == "" }

// within reports whether path is the scope or inside it; everything is inside "".
func within(path, scope string) bool {
	return scope == "" || path == scope || strings.HasPrefix(path, scope+".")
}

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

// parent returns the surrounding scope of path. A numbered scope, such as "h.3", counts as one level: "h" alone is no
// scope.
func parent(path string) string {
	dot := strings.LastIndexByte(path, '.')
	if dot >= 0 && dot+1 < len(path) && path[dot+1] >= '0' && path[dot+1] <= '9' {
		dot = strings.LastIndexByte(path[:dot], '.')
	}
	return path[:max(0, dot)]
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
