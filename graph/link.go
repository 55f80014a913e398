package graph

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// linker builds the plan of the nodes that some outputs need.
type linker struct {
	g       *Graph
	ops     map[*G.Node]*plan.Op
	kept    map[*G.Node]*G.Value // results whose type is not the graph's
	scopes  map[*G.Node]string   // node of the forward pass → its scope
	outputs G.Nodes
	names   []string         // names of Gorgonia's own operations
	folded  map[*G.Node]bool // terms of a sum of gradients that are computed in the memory of the sum
}

// link prunes the graph to the nodes that the outputs need and plans their execution. The first output is the end of
// the forward pass. The function result returns the memory of an output, done the step of the plan that completes it.
func (p *Program) link(outputs G.Nodes) (result func(n *G.Node) Tensor, done func(n *G.Node) int, err error) {
	l, ops, err := p.graph.linked(outputs)
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
	if p.plan, err = plan.New(ops, &p.graph.memory); err != nil {
		return nil, nil, errors.Wrap(err, "compile")
	}
	result = func(n *G.Node) Tensor {
		r := p.plan.Result(l.ops[n])
		return Tensor{Shape: n.Shape(), F32: r.F32, F64: r.F64}
	}
	return result, func(n *G.Node) int { return p.plan.Done(l.ops[n]) }, nil
}

// linked returns the operations that the outputs need, in the order of execution.
func (g *Graph) linked(outputs G.Nodes) (l *linker, ops []*plan.Op, err error) {
	order, err := g.sorted(g.g.ExactSubgraphRoots(outputs...))
	if err != nil {
		return nil, nil, errors.Wrap(err, "compile")
	}
	l = &linker{
		g: g, ops: map[*G.Node]*plan.Op{}, kept: map[*G.Node]*G.Value{},
		scopes: g.scopes(order, outputs[0]), outputs: outputs,
	}
	slices.Reverse(order)
	l.fold(order)
	for _, n := range order {
		if l.folded[n] {
			continue
		}
		if err := g.interrupted(); err != nil {
			return nil, nil, err
		}
		o, err := l.op(n)
		if err != nil {
			return nil, nil, err
		}
		l.ops[n], ops = o, append(ops, o)
	}
	return l, ops, nil
}

// scopes returns the scope of every node that out depends on. In order a node comes before its operands; a node without
// an Expr has the scope of the node computed from it.
func (g *Graph) scopes(order G.Nodes, out *G.Node) map[*G.Node]string {
	scopes := map[*G.Node]string{out: g.source[out.ID()].scope}
	for _, n := range order {
		scope, forward := scopes[n]
		if !forward {
			continue
		}
		for _, c := range g.children(n) {
			if at, known := g.source[c.ID()]; known {
				scopes[c] = at.scope
			} else if _, seen := scopes[c]; !seen {
				scopes[c] = scope
			}
		}
	}
	return scopes
}

// op returns the operation of the plan that computes n: a kernel, one of Gorgonia's, or one without work.
func (l *linker) op(n *G.Node) (o *plan.Op, err error) {
	children := l.g.children(n)
	scope, forward := l.scopes[n]
	defer func() {
		if r := recover(); r != nil {
			o, err = nil, errors.WithMessage(Panicked(r), describeOp(scope, l.g.source[n.ID()], n.Op()))
		}
	}()
	o = &plan.Op{
		Name: describeOp(scope, l.g.source[n.ID()], n.Op()), Forward: forward, Output: slices.Contains(l.outputs, n),
	}
	for _, c := range children {
		if !l.folded[c] {
			o.Inputs = append(o.Inputs, l.ops[c])
		}
	}
	for _, place := range l.g.recompute {
		if within(scope, place) {
			o.Place = place
		}
	}
	if !fits(entries(n.Shape())) {
		return nil, errors.Errorf("%s: shape %v: want at most 2^40 entries", o.Name, n.Shape())
	}
	own, ours := n.Op().(*op)
	switch {
	case ours:
		l.kernel(o, own)
	case len(children) == 0 && n.Value() != nil:
		o.Value = numbersOf(n.Value())
	case len(children) == 1 && sizeOf(n.Op(), children[0]) > 0: // a size for a broadcast needs no operand
		o.Inputs, o.Value = nil, plan.Numbers{F64: []float64{float64(sizeOf(n.Op(), children[0]))}}
	case n.Op() == nil && l.g.outline: // a leaf
	case n.Op() == nil && l.g.unpacked(n.Name()) != nil:
		o.Value = numbersOf(l.g.unpacked(n.Name()))
	case n.Op() == nil:
		return nil, errors.Errorf("the input %s has no value", n.Name())
	case l.g.isSum(n, children):
		l.sum(o, n, children)
	default:
		l.stock(o, n, children)
		l.names = append(l.names, o.Name)
	}
	return o, nil
}
