package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Program runs an expression, and its gradients if it was compiled with any.
type Program struct {
	graph *Graph
	plan  *plan.Program
	ids   []Expr // integers that it reads
	stock []string
	value Tensor
	grads map[*G.Node]Tensor // by what the output is differentiated by
}

// Compile makes a Program that computes out, and, if wrt is given, the gradient of out, a scalar, with respect to each
// of them: parameters, inputs, or anything in between. A parameter that is not listed is frozen, and no gradient of it
// is computed. A Graph is differentiated once; forward programs on it may be compiled before and after. The first error
// in building the graph comes out here.
func Compile(out Expr, wrt ...Expr) (p *Program, err error) {
	g := out.g
	if g == nil {
		return nil, errors.New("nothing to compile: the expression is empty")
	}
	if g.err != nil {
		return nil, g.err
	}
	if g.outline {
		return nil, errors.New("an outline: there are no numbers to compute with")
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
	var grads G.Nodes
	if len(wrt) > 0 {
		if grads, err = differentiate(out, wrt); err != nil {
			return nil, err
		}
	}
	if err := audit(g.g); err != nil {
		return nil, err
	}
	p = &Program{graph: g, grads: map[*G.Node]Tensor{}}
	result, err := p.link(append(G.Nodes{out.node}, grads...))
	if err != nil {
		return nil, err
	}
	p.value = result(out.node)
	for i, x := range wrt {
		t := result(grads[i])
		if x.shape != nil {
			t.Shape = x.shape
		}
		p.grads[x.node] = t
	}
	return p, nil
}

// Run computes the output and the gradients for the numbers that parameters and inputs hold now. It refuses an integer
// out of range before anything is computed.
func (p *Program) Run() error {
	for _, x := range p.ids {
		for i, id := range x.Ints() {
			if (id < 0 || id >= x.ids.limit) && (x.ids.isLookup || id != x.ids.ignore) {
				return errors.Errorf("%s[%d] is %d, not in 0 … %d", x.name, i, id, x.ids.limit-1)
			}
		}
	}
	p.graph.run.begin(len(p.grads) > 0)
	return errors.Wrap(p.plan.Run(), "run")
}

// Stock names the operations of the program that are Gorgonia's own, in their order, with their layers: where a model
// of kernels loses time.
func (p *Program) Stock() []string { return p.stock }

// Value is the output of the last run. It is overwritten by the next run of any program of the graph.
func (p *Program) Value() Tensor { return p.value }

// Loss is the output of the last run as one number.
func (p *Program) Loss() float64 { return p.Value().At(0) }

// Grad is the gradient with respect to x in the last run; empty if the Program was not compiled with x. It is
// overwritten by the next run of any program of the graph.
func (p *Program) Grad(x Expr) Tensor { return p.grads[x.node] }

// Recompute asks programs compiled from here on to forget what the layers below each of the given places, such as
// "h.0", compute inside, and to compute it again when the backward pass comes there: the same bits in less memory, for
// the time of a second forward pass. What leaves a place is kept, and so is what an operation of Gorgonia's gives that
// may draw random numbers or have a state: it runs once.
func (g *Graph) Recompute(scopes ...string) { g.recompute = scopes }

// Bytes is the memory that the programs of the graph hold for results, gradients and what lies between, without the
// parameters.
func (g *Graph) Bytes() int { return g.memory.Bytes() }
