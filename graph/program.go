package graph

import (
	"cmp"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Program is a compiled expression, with its gradients if it was compiled with any. Compile creates it.
type Program struct {
	graph *Graph
	plan  *plan.Program
	ids   []Expr // the integer inputs
	stock []string
	ran   bool // the last run, if any, succeeded
	value Tensor
	kept  map[*G.Node]Tensor // results of the expressions to keep
	grads map[*G.Node]Tensor // expression that the output is differentiated by → gradient
	done  []finished
}

// Compile returns a Program that computes out. If wrt is given, it also computes the gradient of out, a scalar, with
// respect to each of these expressions: parameters, inputs, or anything in between. A parameter that is not listed is
// frozen, and its gradient is not computed. A Graph can be differentiated once; forward programs on it may be compiled
// before and after. Compile returns the first error in building the graph.
func Compile(out Expr, wrt ...Expr) (p *Program, err error) { return CompileWith(out, nil, wrt...) }

// CompileWith is like Compile, but the Program also keeps the values of the expressions in keep, which Kept returns.
// One pass computes all of them.
func CompileWith(out Expr, keep []Expr, wrt ...Expr) (p *Program, err error) {
	g := out.g
	switch {
	case g == nil:
		return nil, errors.New("nothing to compile: the expression is empty")
	case g.err != nil:
		return nil, g.err
	case g.outline:
		return nil, errors.New("an outline has no numbers to compute with")
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
			g.differentiated = err // half a backward pass exists: later attempts return this error
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

// outputs returns the nodes that are read from a program, each once, the end of the forward pass first.
func outputs(out Expr, keep []Expr, grads G.Nodes) (list G.Nodes, err error) {
	list = append(G.Nodes{out.node}, grads...)
	for _, x := range keep {
		switch {
		case x.node == nil || x.g != out.g:
			return nil, errors.New("an expression to keep is empty or belongs to another graph")
		case !slices.Contains(list, x.node):
			list = append(list, x.node)
		}
	}
	return list, nil
}

// errRunning is the error for two goroutines that use one graph at the same time.
var errRunning = errors.New("a program of the graph is running: run a second one on a Sibling")

var errNoProgram = errors.New("run: no program: create one with Compile")

// Run computes the output and the gradients for the current numbers of parameters and inputs. If an integer is out of
// range, it returns an error and computes nothing. Programs of one graph run one at a time: starting a second one is an
// error.
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

// run is like Run, for a caller that holds the graph and, for reading, its parameters.
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

// Bytes returns the memory that the programs of the graph hold for results, gradients and everything in between,
// without the parameters.
func (g *Graph) Bytes() int {
	if g == nil {
		return 0
	}
	return g.memory.Bytes()
}
