package graph

import (
	"cmp"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Compile returns a Program that computes out. If wrt is given, it also computes the gradient of out, a scalar, with
// respect to each of these expressions: parameters, inputs, or anything in between. A parameter that is not listed is
// frozen, and its gradient is not computed. A Graph can be differentiated once; forward programs on it may be compiled
// before and after. Compile returns the first error in building the graph.
func Compile(out Expr, wrt ...Expr) (*Program, error) { return CompileWith(out, nil, wrt...) }

// CompileWith is like Compile, but the Program also keeps the values of the expressions in keep, which Kept returns.
// One pass computes all of them.
func CompileWith(out Expr, keep []Expr, wrt ...Expr) (*Program, error) {
	g := out.g
	switch {
	case g == nil:
		return nil, errors.New("nothing to compile: the expression is empty")
	case g.err != nil:
		return nil, g.err
	case g.ops.Outline:
		return nil, errors.New("an outline has no numbers to compute with")
	case out.node == nil:
		return nil, errors.New("nothing to compile: the expression is empty")
	case !g.running.TryLock():
		return nil, errors.Wrap(errRunning, "compile")
	}
	defer g.running.Unlock()
	building.Lock()
	defer building.Unlock()
	for _, x := range slices.Concat([]Expr{out}, keep, wrt) {
		if x.g == g {
			x.store()
		}
	}
	if g.err != nil {
		return nil, g.err
	}
	before := g.differentiated
	p, err := compile(out, keep, wrt)
	if err == nil {
		return p, nil
	}
	if g.interrupted() != nil {
		err = g.err
	}
	if before == nil && g.differentiated != nil { // half a backward pass exists: later attempts return this error
		g.differentiated = err
	}
	return nil, err
}

// compile differentiates out, if there are expressions to differentiate by, and plans the program. A panic in it
// becomes an error.
func compile(out Expr, keep, wrt []Expr) (p *Program, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, errors.WithMessage(Panicked(r), "compile")
		}
	}()
	g := out.g
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
	outputs, err := outputs(out, keep, grads)
	if err != nil {
		return nil, err
	}
	p = &Program{graph: g, kept: map[*G.Node]Tensor{}, grads: map[*G.Node]Tensor{}}
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

// link prunes the graph to the nodes that the outputs need and plans their execution. The first output is the end of
// the forward pass. The function result returns the memory of an output, done the step of the plan that completes it.
func (p *Program) link(outputs G.Nodes) (result func(n *G.Node) Tensor, done func(n *G.Node) int, err error) {
	l, list, err := p.graph.linked(outputs)
	if err != nil {
		return nil, nil, err
	}
	leaves := 0
	for _, x := range p.graph.leaves {
		if l.ops[x.node] == nil {
			continue
		}
		if leaves++; x.ids != nil {
			p.ids = append(p.ids, x)
		}
	}
	if leaves == 0 {
		return nil, nil, errors.New("the expression depends on no parameter and no input")
	}
	p.stock = l.names
	if p.plan, err = plan.New(list, p.graph.arena()); err != nil {
		return nil, nil, errors.Wrap(err, "compile")
	}
	result = func(n *G.Node) Tensor {
		r := p.plan.Result(l.ops[n])
		return Tensor{Shape: n.Shape(), F32: r.F32, F64: r.F64}
	}
	return result, func(n *G.Node) int { return p.plan.Done(l.ops[n]) }, nil
}

// Recompute makes programs compiled from here on discard what the layers below each of the given places, such as "h.0",
// compute inside, and compute it again when the backward pass needs it: the same bits in less memory, for the time of a
// second forward pass. The results that leave a place are kept. So are the results of Gorgonia operations that may draw
// random numbers or have a state: these run once. Compile returns an error if nothing is computed in a place.
func (g *Graph) Recompute(scopes ...string) {
	if g != nil {
		g.recompute = scopes
	}
}

func (g *Graph) checkRecompute() error {
	for _, place := range g.recompute {
		if !g.computes(place) {
			return errors.Errorf("recompute: nothing is computed in %q: %s", place, nearest(place, g.firstInput))
		}
	}
	return nil
}

func (g *Graph) computes(place string) bool {
	for _, at := range g.source {
		if place != "" && !at.leaf() && within(at.scope, place) {
			return true
		}
	}
	return false
}
