package graph

import (
	"slices"

	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

var errDifferentiated = errors.New("the graph has been differentiated: a second loss needs a Sibling")

// differentiate adds the backward pass to the loss's graph.
func differentiate(loss Expr, wrt []Expr) (G.Nodes, error) {
	if !loss.node.IsScalar() {
		return nil, errors.Errorf("want a scalar to differentiate, got shape %v", loss.node.Shape())
	}
	if loss.g.differentiated != nil {
		return nil, loss.g.differentiated
	}
	nodes := make(G.Nodes, len(wrt))
	for i, x := range wrt {
		if x.node == nil || x.g != loss.g {
			return nil, errors.Errorf("%q is empty or belongs to another graph", x.name)
		}
		nodes[i] = x.node
	}
	// Gorgonia keeps a gradient in every node: a second loss would get the first one's.
	loss.g.differentiated = errDifferentiated
	if err := loss.g.backpropagate(loss, nodes); err != nil {
		return nil, explain(err, wrt)
	}
	grads := make(G.Nodes, len(wrt))
	for i, x := range wrt {
		if grads[i] = x.node.Deriv(); grads[i] == nil {
			return nil, errors.Errorf("%s: the loss does not depend on it", x.name)
		}
	}
	return grads, nil
}

// backpropagate builds the backward pass. If an operation panics, the error names it.
func (g *Graph) backpropagate(loss Expr, wrt G.Nodes) (err error) {
	if err := g.interrupted(); err != nil {
		return err
	}
	before := g.g.AllNodes()
	defer func() {
		if r := recover(); r != nil {
			err = errors.Errorf("%s%v", g.broken(before, loss.node), Panicked(r))
		}
	}()
	seed := g.g.AddNode(loss.g.ops.Constant(1))
	_, err = G.Backpropagate(G.Nodes{loss.node}, G.Nodes{seed}, wrt)
	return err
}

// broken returns the name of the operation that stopped the backward pass from out. The pass goes from the last node to
// the first, so the operation is the first that has a gradient. If none has one, it is the last whose DiffWRT panics.
// The nodes are those that were there before the pass.
func (g *Graph) broken(before G.Nodes, out *G.Node) string {
	order, operands := g.needed(before)
	scopes := g.scopes(order, operands, out)
	for _, n := range order {
		if n.Op() != nil && n.Deriv() != nil {
			return describeOp(scopes[n], g.source[n.ID()], n.Op()) + ": "
		}
	}
	for _, n := range slices.Backward(order) {
		if op, ok := n.Op().(G.SDOp); ok && panics(func() { op.DiffWRT(len(operands[n])) }) {
			return describeOp(scopes[n], g.source[n.ID()], n.Op()) + ": "
		}
	}
	return ""
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// explain returns err with the names of the parameters for which Gorgonia lists only nodes.
func explain(err error, wrt []Expr) error {
	if bad, ok := err.(interface{ Nodes() G.Nodes }); ok {
		for _, n := range bad.Nodes() {
			for _, x := range wrt {
				if x.node == n {
					return errors.Errorf("%s: the loss does not depend on it", x.name)
				}
			}
		}
	}
	return errors.Wrap(err, "differentiate")
}

// audit returns an error if two nodes have the same hash: Gorgonia identifies values by the 32-bit hash alone and would
// merge them.
func audit(g *G.ExprGraph) error {
	seen := map[uint32]*G.Node{}
	for _, n := range g.AllNodes() {
		if other, ok := seen[n.Hashcode()]; ok {
			return errors.Wrapf(errCollision, "%v and %v", other, n)
		}
		seen[n.Hashcode()] = n
	}
	return nil
}
