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
		return nil, errors.Errorf("the gradient of a scalar is needed, not of shape %v", loss.node.Shape())
	}
	if loss.g.differentiated != nil {
		return nil, loss.g.differentiated
	}
	nodes := make(G.Nodes, len(wrt))
	for i, x := range wrt {
		if x.node == nil || x.g != loss.g {
			return nil, errors.Errorf("%q is empty or of another graph", x.name)
		}
		nodes[i] = x.node
	}
	loss.g.differentiated = errDifferentiated // Gorgonia keeps a gradient in every node: a second loss would get the first one's
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

// backpropagate builds the backward pass. A panic in it is that of an operation, which is named.
func (g *Graph) backpropagate(loss Expr, wrt G.Nodes) (err error) {
	order, err := g.sorted(g.g)
	if err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			err = errors.Errorf("%s%v", g.broken(order, loss.node), Panicked(r))
		}
	}()
	seed := g.g.AddNode(loss.constant(1))
	_, err = G.Backpropagate(G.Nodes{loss.node}, G.Nodes{seed}, wrt)
	return err
}

// broken names the operation in which building the backward pass from out stopped: the last in that order that has been
// given a gradient, or else the first that does not say by what it can be differentiated.
func (g *Graph) broken(order G.Nodes, out *G.Node) string {
	scopes := g.scopes(order, out)
	for _, n := range slices.Backward(order) {
		if n.Op() != nil && n.Deriv() != nil {
			return describeOp(scopes[n], g.source[n.ID()], n.Op()) + ": "
		}
	}
	for _, n := range order {
		if op, ok := n.Op().(G.SDOp); ok && panics(func() { op.DiffWRT(len(g.children(n))) }) {
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

// explain names the parameters that Gorgonia only points at.
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

// audit looks for two nodes of one hash: Gorgonia numbers values by the 32-bit hash alone and would merge them.
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
