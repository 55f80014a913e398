package graph

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// linker builds the plan of the nodes that some outputs need.
type linker struct {
	g       *Graph
	inputs  map[*G.Node]G.Nodes // the operands of a node
	ops     map[*G.Node]*plan.Op
	kept    map[*G.Node]*G.Value // results whose type is not the graph's
	scopes  map[*G.Node]string   // node of the forward pass → its scope
	outputs G.Nodes
	names   []string         // names of Gorgonia's own operations
	folded  map[*G.Node]bool // terms of a sum of gradients that are computed in the memory of the sum
}

// linked returns the operations that the outputs need, in the order of execution.
func (g *Graph) linked(outputs G.Nodes) (l *linker, list []*plan.Op, err error) {
	if err := g.interrupted(); err != nil {
		return nil, nil, errors.Wrap(err, "compile")
	}
	order, inputs := g.needed(outputs)
	l = &linker{
		g: g, inputs: inputs, ops: map[*G.Node]*plan.Op{}, kept: map[*G.Node]*G.Value{},
		scopes: g.scopes(order, inputs, outputs[0]), outputs: outputs,
	}
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
		l.ops[n], list = o, append(list, o)
	}
	return l, list, nil
}

// op returns the operation of the plan that computes n: a kernel, one of Gorgonia's, or one without work.
func (l *linker) op(n *G.Node) (o *plan.Op, err error) {
	children := l.inputs[n]
	scope, forward := l.scopes[n]
	defer func() {
		if r := recover(); r != nil {
			o, err = nil, errors.WithMessage(Panicked(r), describeOp(scope, l.g.source[n.ID()], n.Op()))
		}
	}()
	o = &plan.Op{
		Name: describeOp(scope, l.g.source[n.ID()], n.Op()), Forward: forward, Output: slices.Contains(l.outputs, n),
		Rows: 1,
	}
	if shape := n.Shape(); len(shape) == 2 {
		o.Rows = shape[0]
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
	if !fits(entries(n.Shape())) && l.g.ops.Rule(n) == nil {
		return nil, errors.Errorf("%s: shape %v: want at most 2^40 entries", o.Name, n.Shape())
	}
	own, ours := n.Op().(*ops.Op)
	switch {
	case ours:
		own.Plan(o)
	case len(children) == 0 && n.Value() != nil:
		o.Value = ops.NumbersOf(n.Value())
	case len(children) == 1 && ops.AxisSize(n.Op(), children[0]) > 0: // a size for a broadcast needs no operand
		o.Inputs, o.Value = nil, plan.Numbers{F64: []float64{float64(ops.AxisSize(n.Op(), children[0]))}}
	case n.Op() == nil && (l.g.ops.Outline || l.g.ops.Rule(n) != nil): // a leaf
	case n.Op() == nil && l.g.unpacked(n.Name()) != nil:
		o.Value = ops.NumbersOf(l.g.unpacked(n.Name()))
	case n.Op() == nil:
		return nil, errors.Errorf("the input %s has no value", n.Name())
	case l.isSum(n, children):
		l.sum(o, n, children)
	default:
		l.stock(o, n, children)
		l.names = append(l.names, o.Name)
	}
	return o, nil
}

// stock plans an operation of Gorgonia's.
func (l *linker) stock(o *plan.Op, n *G.Node, children G.Nodes) {
	var kept *G.Value
	if n.Dtype() == l.g.ops.Dtype {
		ops.PlanStock(o, n)
	} else {
		kept = new(G.Value)
		l.kept[n] = kept
	}
	o.Once = !ops.Pure(n.Op())
	o.Run = func(out plan.Numbers, in []plan.Numbers) func() error {
		s := ops.NewStock(n, len(children), out, kept)
		for i, c := range children {
			l.argument(s, i, c, in[i])
		}
		return s.Run
	}
}

// argument sets argument i of an operation of Gorgonia's to the value of c.
func (l *linker) argument(s *ops.Stock, i int, c *G.Node, numbers plan.Numbers) {
	_, leaf := l.g.leafOf(c)
	kept := l.kept[c]
	switch {
	case kept != nil:
		s.Fetch(i, func() G.Value { return *kept })
	case l.ops[c].Run == nil && c.Value() != nil && (!leaf || c.Dtype() != l.g.ops.Dtype):
		s.Fetch(i, c.Value)
	default:
		s.Bind(i, c, numbers)
	}
}

func (l *linker) isSum(n *G.Node, children G.Nodes) bool {
	return l.g.Kernels && l.g.ops.IsSum(n, children)
}

// sum plans the addition of two gradients. If one has only some rows, such as the gradient of a table that is also the
// head, these rows are added in the memory of the other. For GPT-2's table this saves half a gigabyte of reading and
// writing.
func (l *linker) sum(o *plan.Op, n *G.Node, children G.Nodes) {
	var few *G.Node
	for _, c := range children {
		if l.folded[c] {
			few = c
			o.Inputs, o.Over = append(o.Inputs, l.ops[l.inputs[c][0]]), true
		}
	}
	l.g.ops.PlanSum(o, n.Shape(), few)
}

// fold finds the gradients with only some rows that no other operation than one sum needs, at most one per sum.
func (l *linker) fold(order G.Nodes) {
	needed := map[*G.Node]int{}
	for _, n := range order {
		for _, c := range l.inputs[n] {
			needed[c]++
		}
	}
	l.folded = map[*G.Node]bool{}
	for _, n := range order {
		children := l.inputs[n]
		if !l.isSum(n, children) {
			continue
		}
		for _, c := range children {
			if ops.HasFewRows(c) && needed[c] == 1 && !slices.Contains(l.outputs, c) {
				l.folded[c] = true
				break
			}
		}
	}
}
