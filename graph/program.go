package graph

import (
	"cmp"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Program runs an expression, and its gradients if it was compiled with any. Compile makes it.
type Program struct {
	graph *Graph
	plan  *plan.Program
	ids   []Expr // integers that it reads
	stock []string
	ran   bool // and the last time without an error
	value Tensor
	kept  map[*G.Node]Tensor // what is read besides
	grads map[*G.Node]Tensor // by what the output is differentiated by
	done  []finished
}

// Compile makes a Program that computes out, and, if wrt is given, the gradient of out, a scalar, with respect to each
// of them: parameters, inputs, or anything in between. A parameter that is not listed is frozen, and no gradient of it
// is computed. A Graph is differentiated once; forward programs on it may be compiled before and after. The first error
// in building the graph comes out here.
func Compile(out Expr, wrt ...Expr) (p *Program, err error) { return CompileWith(out, nil, wrt...) }

// CompileWith is Compile of a Program that keeps, besides out, what it computes of others, for Kept: one pass for all
// of them.
func CompileWith(out Expr, keep []Expr, wrt ...Expr) (p *Program, err error) {
	g := out.g
	switch {
	case g == nil:
		return nil, errors.New("nothing to compile: the expression is empty")
	case g.err != nil:
		return nil, g.err
	case g.outline:
		return nil, errors.New("an outline: there are no numbers to compute with")
	case out.node == nil:
		return nil, errors.New("nothing to compile: the expression is empty")
	case !g.running.TryLock():
		return nil, errors.Wrap(errRunning, "compile")
	}
	defer g.running.Unlock()
	building.Lock()
	defer building.Unlock()
	again := g.differentiated
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, errors.WithMessage(Panicked(r), "compile")
		}
		if err != nil && g.interrupted() != nil {
			p, err = nil, g.err
		}
		if err != nil && again == nil && g.differentiated != nil {
			g.differentiated = err // half a backward pass is there: the next one hears why
		}
	}()
	if err := g.checkRecompute(); err != nil {
		return nil, err
	}
	var grads G.Nodes
	if len(wrt) > 0 {
		if grads, err = differentiate(out, wrt); err != nil {
			return nil, err
		}
	}
	if err := audit(g.g); err != nil {
		return nil, err
	}
	p = &Program{graph: g, kept: map[*G.Node]Tensor{}, grads: map[*G.Node]Tensor{}}
	outputs, err := outputs(out, keep, grads)
	if err != nil {
		return nil, err
	}
	result, done, err := p.link(outputs)
	if err != nil {
		return nil, err
	}
	p.value = result(out.node)
	for _, x := range keep {
		p.kept[x.node] = result(x.node)
	}
	for i, x := range wrt {
		t := result(grads[i])
		if x.shape != nil {
			t.Shape = x.shape
		}
		p.grads[x.node] = t
		p.done = append(p.done, finished{x, t, done(grads[i])})
	}
	slices.SortStableFunc(p.done, func(a, b finished) int { return cmp.Compare(a.step, b.step) })
	return p, nil
}

// outputs returns what is read of a program, each once, the end of the forward pass first.
func outputs(out Expr, keep []Expr, grads G.Nodes) (list G.Nodes, err error) {
	list = append(G.Nodes{out.node}, grads...)
	for _, x := range keep {
		switch {
		case x.node == nil || x.g != out.g:
			return nil, errors.New("what is to be kept is empty or of another graph")
		case !slices.Contains(list, x.node):
			list = append(list, x.node)
		}
	}
	return list, nil
}

// errRunning means that two goroutines use one graph.
var errRunning = errors.New("a program of the graph runs: one at a time, a second one needs a Sibling")

var errNoProgram = errors.New("run: no program: Compile makes one")

// Run computes the output and the gradients for the numbers that parameters and inputs hold now. It refuses an integer
// out of range before anything is computed. Programs of one graph run one at a time: a second one is an error.
func (p *Program) Run() error {
	if p == nil || p.graph == nil {
		return errNoProgram
	}
	if !p.graph.running.TryLock() {
		return errors.Wrap(errRunning, "run")
	}
	defer p.graph.running.Unlock()
	p.graph.store.RLock()
	defer p.graph.store.RUnlock()
	return p.run()
}

// run is Run for a caller that holds the graph and, for reading, its parameters.
func (p *Program) run() error {
	p.ran = false
	for _, x := range p.ids {
		for i, id := range x.Ints() {
			if !x.ids.accepts(id) {
				return errors.Errorf("%s[%d] is %d, not in 0 … %d", x.name, i, id, x.ids.limit-1)
			}
		}
	}
	p.graph.run.begin(len(p.grads) > 0)
	if err := p.plan.Run(); err != nil {
		return errors.Wrap(err, "run")
	}
	p.ran = true
	return nil
}

// Bytes returns the memory that the programs of the graph hold for results, gradients and what lies between, without
// the parameters.
func (g *Graph) Bytes() int {
	if g == nil {
		return 0
	}
	return g.memory.Bytes()
}
