package graph

import (
	"slices"

	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Program runs an expression, and its gradients if it was compiled with any.
type Program struct {
	graph  *Graph
	out    *G.Node
	deriv  map[*G.Node]*G.Node // gradient nodes
	vm     G.VM
	ids    []Expr
	memory *memory
	direct *direct // instead of the machine, where all operations are ours
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
	p = &Program{graph: g, out: out.node, deriv: map[*G.Node]*G.Node{}}
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

// link prunes the graph to what the outputs need and plans the memory of our operations.
func (p *Program) link(outputs G.Nodes) error {
	byNode := map[*G.Node]Expr{}
	for _, x := range p.graph.leaves {
		byNode[x.node] = x
	}
	var inputs G.Nodes
	seen := map[*G.Node]bool{}
	var visit func(n *G.Node)
	visit = func(n *G.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		if x, ok := byNode[n]; ok {
			inputs = append(inputs, n)
			if x.ids != nil {
				p.ids = append(p.ids, x)
			}
		}
		for _, c := range p.graph.children(n) {
			visit(c)
		}
	}
	for _, n := range outputs {
		visit(n)
	}
	if len(inputs) == 0 {
		return errors.New("the expression depends on no parameter and no input")
	}
	order, err := G.Sort(p.graph.g.ExactSubgraphRoots(outputs...)) // as CompileFunction does
	if err != nil {
		return errors.Wrap(err, "compile")
	}
	slices.Reverse(order)
	ops, stock := substitutes(p.graph, order)
	if stock == nil {
		tasks := schedule(p.graph, order, outputs, ops)
		p.memory = newPlan(p.graph, tasks, outputs, ops).carryOut()
		p.direct = newDirect(p.graph, tasks, p.memory)
		return nil
	}
	if len(p.deriv) > 0 && len(p.graph.recompute) > 0 {
		at := p.graph.origin[stock.ID()]
		return errors.Errorf("recompute: every operation has to be a kernel, but %s%s is Gorgonia's %v", prefix(at.scope), at.op, stock.Op())
	}
	ops = map[*G.Node]*op{}
	tasks := make([]task, len(order))
	for i, n := range order {
		tasks[i] = task{node: n}
		if o, ours := n.Op().(*op); ours {
			ops[n], tasks[i].op = o, o
		}
	}
	p.memory = newPlan(p.graph, tasks, outputs, ops).carryOut()
	prog, locations, err := G.CompileFunction(p.graph.g, inputs, outputs)
	if err != nil {
		return errors.Wrap(err, "compile")
	}
	p.vm = G.NewTapeMachine(p.graph.g, G.WithPrecompiled(prog, locations))
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
	p.memory.bind()
	if p.direct != nil {
		return errors.Wrap(p.direct.run(), "run")
	}
	defer p.vm.Reset()
	return errors.Wrap(p.vm.RunAll(), "run")
}

// Value is the output of the last run. It is overwritten by the next run of any program of the graph.
func (p *Program) Value() Tensor { return p.valueOf(p.out) }

func (p *Program) valueOf(n *G.Node) Tensor {
	if o, ours := p.memory.ops[n]; ours {
		return view(p.memory.values[o])
	}
	return view(n.Value())
}

// Loss is the output of the last run as one number.
func (p *Program) Loss() float64 { return p.Value().At(0) }

// Grad is the gradient with respect to x in the last run; empty if the Program was not compiled with x. It is
// overwritten by the next run of any program of the graph.
func (p *Program) Grad(x Expr) Tensor {
	n, ok := p.deriv[x.node]
	if !ok {
		return Tensor{}
	}
	t := p.valueOf(n)
	if x.shape != nil {
		t.Shape = x.shape
	}
	return t
}

// Close gives back what the Program holds outside the garbage collector's reach.
func (p *Program) Close() error {
	if p.vm == nil {
		return nil
	}
	return p.vm.Close()
}
