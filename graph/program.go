package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Program runs an expression, and its gradients if it was compiled with any.
type Program struct {
	graph   *Graph
	out     *G.Node
	deriv   map[*G.Node]*G.Node // gradient nodes
	ids     []Expr
	plan    *plan.Program
	results map[*G.Node]Tensor
	stock   []string
}

// Compile makes a Program that computes out, and, if wrt is given, the gradient of out, a scalar, with respect to each
// of them: parameters, inputs, or anything in between. A parameter that is not listed is frozen, and no gradient of it is
// computed. A Graph is differentiated once; forward programs on it may be compiled before and after. The first error in
// building the graph comes out here.
func Compile(out Expr, wrt ...Expr) (p *Program, err error) {
	g := out.g
	if g == nil {
		return nil, errors.New("nothing to compile: the expression is empty")
	}
	if g.err != nil {
		return nil, g.err
	}
	if g.outline {
		return nil, errOutline
	}
	if out.node == nil {
		return nil, errors.New("nothing to compile: the expression is empty")
	}
	building.Lock()
	defer building.Unlock()
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, errors.Errorf("compile: %v", r)
		}
	}()
	p = &Program{graph: g, out: out.node, deriv: map[*G.Node]*G.Node{}, results: map[*G.Node]Tensor{}}
	outputs := G.Nodes{out.node}
	if len(wrt) > 0 {
		grads, err := differentiate(out, wrt)
		if err != nil {
			return nil, err
		}
		for i, x := range wrt {
			p.deriv[x.node] = grads[i]
		}
		outputs = append(outputs, grads...)
	}
	if err := audit(g.g); err != nil {
		return nil, err
	}
	return p, p.link(outputs)
}

func differentiate(loss Expr, wrt []Expr) (G.Nodes, error) {
	if !loss.node.IsScalar() {
		return nil, errors.Errorf("the gradient of a scalar is needed, not of shape %v", loss.node.Shape())
	}
	if loss.g.graded {
		return nil, errors.New("the graph has been differentiated: a second loss needs a Sibling")
	}
	nodes := make(G.Nodes, 0, len(wrt))
	seen := map[*G.Node]bool{}
	for _, x := range wrt {
		if x.node == nil || x.g != loss.g {
			return nil, errors.Errorf("%q is empty or of another graph", x.name)
		}
		if !seen[x.node] {
			seen[x.node] = true
			nodes = append(nodes, x.node)
		}
	}
	loss.g.graded = true // Gorgonia keeps a gradient in every node, and would hand out the first loss's again
	seed := loss.g.g.AddNode(loss.constant(1))
	if _, err := G.Backpropagate(G.Nodes{loss.node}, G.Nodes{seed}, nodes); err != nil {
		return nil, explain(err, wrt)
	}
	grads := make(G.Nodes, len(wrt))
	for i, x := range wrt {
		if grads[i] = x.node.Deriv(); grads[i] == nil {
			return nil, errors.Errorf("%s: the loss does not depend on it", x.name)
		}
	}
	for i, n := range grads { // what another operation reads, that one may overwrite in place: keep a copy
		if loss.g.g.To(n.ID()).Len() > 0 {
			kept, err := loss.g.reshape(n, n.Shape())
			if err != nil {
				return nil, errors.Wrap(err, wrt[i].name)
			}
			grads[i] = kept
		}
	}
	return grads, nil
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
		if other, ok := seen[n.Hashcode()]; ok && other != n {
			return errors.Wrapf(errCollision, "%v and %v", other, n)
		}
		seen[n.Hashcode()] = n
	}
	return nil
}

// Run computes the output and the gradients for the numbers that parameters and inputs hold now. It refuses an integer
// out of range before anything is computed.
func (p *Program) Run() error {
	for _, x := range p.ids {
		for i, id := range x.Ints() {
			if (id < 0 || id >= x.ids.limit) && (x.ids.looked || id != x.ids.ignore) {
				return errors.Errorf("%s[%d] is %d, not in 0 … %d", x.name, i, id, x.ids.limit-1)
			}
		}
	}
	p.graph.run.serial++
	return errors.Wrap(p.plan.Run(), "run")
}

// Stock names the operations of the program that are Gorgonia's own, in their order, with their layers: where a model of
// kernels loses time.
func (p *Program) Stock() []string { return p.stock }

// Value is the output of the last run. It is overwritten by the next run of any program of the graph.
func (p *Program) Value() Tensor { return p.results[p.out] }

// Loss is the output of the last run as one number.
func (p *Program) Loss() float64 { return p.Value().At(0) }

// Grad is the gradient with respect to x in the last run; empty if the Program was not compiled with x. It is
// overwritten by the next run of any program of the graph.
func (p *Program) Grad(x Expr) Tensor {
	n, ok := p.deriv[x.node]
	if !ok {
		return Tensor{}
	}
	t := p.results[n]
	if x.shape != nil {
		t.Shape = x.shape
	}
	return t
}
