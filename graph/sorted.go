package graph

import (
	"cmp"
	"slices"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/topo"
	G "gorgonia.org/gorgonia"
)

// sorted returns the nodes of part in the order of Gorgonia's Sort: every node before its operands, and otherwise by
// decreasing number. Sort looks for each node in a new graph from its beginning, so its time grows with the square of
// the number of nodes. Here the operands come from g, which has found its nodes before.
func (g *Graph) sorted(part *G.ExprGraph) (G.Nodes, error) {
	if err := g.interrupted(); err != nil {
		return nil, err
	}
	list, err := topo.SortStabilized(subgraph{part, g.g}, func(nodes []graph.Node) {
		slices.SortFunc(nodes, func(a, b graph.Node) int { return cmp.Compare(b.ID(), a.ID()) })
	})
	if err != nil {
		return nil, errors.Wrap(err, "sort")
	}
	nodes := make(G.Nodes, len(list))
	for i, n := range list {
		nodes[i] = n.(*G.Node)
	}
	return nodes, g.interrupted()
}

// subgraph is a graph whose operands are found in the full graph that it is a part of.
type subgraph struct {
	*G.ExprGraph
	full *G.ExprGraph
}

// From returns the operands of a node.
func (s subgraph) From(id int64) graph.Nodes { return s.full.From(id) }
