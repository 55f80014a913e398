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
