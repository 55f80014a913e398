package graph

import (
	"cmp"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// buffer is memory that one of our operations fills: its result, a further result, what its backward operation needs of
// it, or scratch. It is bound to numbers before the operation runs.
type buffer struct {
	size int
	part bool // wanted only where the operation that returns it is part of the program

	f32 []float32
	f64 []float64
}

// numbers are some floats of either type.
type numbers struct {
	f32 []float32
	f64 []float64
}

func (n numbers) part(from, to int) numbers {
	if n.f32 != nil {
		return numbers{f32: n.f32[from:to:to]}
	}
	return numbers{f64: n.f64[from:to:to]}
}

func (n numbers) len() int { return len(n.f32) + len(n.f64) }

// slot is what a buffer holds in one turn of its operation.
type slot struct {
	buffer *buffer
	again  bool
}

// plan gives every slot of a program memory, and lets two share it if one is done with before the other begins.
type plan struct {
	graph       *Graph
	tasks       []task
	ops         map[*G.Node]*op // what computes a node, where it is one of ours
	first, last map[slot]int
	holds       map[*G.Node][]slot // what a node's value may lie in
	redone      map[*buffer]bool   // computed again already
}

func newPlan(g *Graph, tasks []task, outputs G.Nodes, ops map[*G.Node]*op) *plan {
	p := &plan{
		graph: g, tasks: tasks, ops: ops, first: map[slot]int{}, last: map[slot]int{},
		holds: map[*G.Node][]slot{}, redone: map[*buffer]bool{},
	}
	for i, t := range tasks {
		children := g.children(t.node)
		for _, c := range children {
			for _, s := range p.holds[c] {
				p.last[s] = max(p.last[s], i)
			}
		}
		if t.op == nil {
			p.stock(t.node, children)
			continue
		}
		for _, b := range t.op.writes() {
			s := slot{b, t.again}
			if _, seen := p.first[s]; !seen {
				p.first[s] = i
			}
			p.last[s] = max(p.last[s], i)
			p.redone[b] = t.again
		}
		for _, b := range t.op.uses {
			s := slot{b, p.redone[b]}
			p.last[s] = max(p.last[s], i)
		}
		p.holds[t.node] = []slot{{t.op.out, t.again}}
	}
	for _, n := range outputs {
		for _, s := range p.holds[n] {
			p.last[s] = math.MaxInt
		}
	}
	p.dropUnwanted()
	return p
}

// writes are the buffers that a turn of the operation fills.
func (o *op) writes() []*buffer { return append([]*buffer{o.out}, o.fills...) }

// stock notes that a stock operation may work in place, or hand its operand on: its value may lie in the memory of any
// operand of its size.
func (p *plan) stock(n *G.Node, children G.Nodes) {
	for _, c := range children {
		for _, s := range p.holds[c] {
			if s.buffer.size == n.Shape().TotalSize() && !slices.Contains(p.holds[n], s) {
				p.holds[n] = append(p.holds[n], s)
			}
		}
	}
}

// dropUnwanted forgets further results that nobody returns, such as the gradient of a frozen gain.
func (p *plan) dropUnwanted() {
	returned := map[*buffer]bool{}
	for _, o := range p.ops {
		returned[o.out] = true
	}
	for s := range p.first {
		if s.buffer.part && !returned[s.buffer] {
			delete(p.first, s)
		}
	}
}

// place is where a slot lies in the graph's memory.
type place struct {
	slot
	from, to int
}

// assign lays the slots out, the largest first, each at the lowest address where nothing lies that is needed at the same
// time. The graph's programs share the memory, because they do not run at the same time.
func (p *plan) assign() map[slot]numbers {
	slots := p.slots()
	slices.SortStableFunc(slots, func(a, b slot) int { return cmp.Compare(b.buffer.size, a.buffer.size) })
	var laid []place // by address
	total := 0
	for _, s := range slots {
		at := 0
		for _, other := range laid {
			if !p.together(s, other.slot) {
				continue
			}
			if at+s.buffer.size <= other.from {
				break
			}
			at = max(at, other.to)
		}
		const line = 16 // floats; every slot begins a line of the cache
		to := (at + s.buffer.size + line - 1) / line * line
		i, _ := slices.BinarySearchFunc(laid, at, func(o place, at int) int { return cmp.Compare(o.from, at) })
		laid = slices.Insert(laid, i, place{s, at, to})
		total = max(total, to)
	}
	if total > p.graph.memory.len() {
		p.graph.memory = p.graph.alloc(total)
	}
	out := map[slot]numbers{}
	for _, l := range laid {
		out[l.slot] = p.graph.memory.part(l.from, l.from+l.buffer.size)
	}
	return out
}

// together says whether two slots are needed at the same time.
func (p *plan) together(a, b slot) bool {
	return p.graph.private || p.first[a] <= p.last[b] && p.first[b] <= p.last[a]
}

// slots lists the slots in the order in which they are first filled.
func (p *plan) slots() (list []slot) {
	seen := map[slot]bool{}
	for _, t := range p.tasks {
		if t.op == nil {
			continue
		}
		for _, b := range t.op.writes() {
			s := slot{b, t.again}
			if _, wanted := p.first[s]; wanted && !seen[s] {
				seen[s] = true
				list = append(list, s)
			}
		}
	}
	return list
}

func (g *Graph) alloc(size int) numbers {
	if g.dtype == Float32 {
		return numbers{f32: kernel.Make[float32](size)}
	}
	return numbers{f64: kernel.Make[float64](size)}
}

// children are the nodes that n is made of.
func (g *Graph) children(n *G.Node) (list G.Nodes) {
	for it := g.g.From(n.ID()); it.Next(); {
		list = append(list, it.Node().(*G.Node))
	}
	return list
}

// memory is a plan carried out.
type memory struct {
	ops     map[*G.Node]*op
	values  map[*op]G.Value
	numbers map[slot]numbers
	bound   []binding // for Gorgonia's machine, where nothing is computed twice
}

// binding says what a buffer holds.
type binding struct {
	buffer *buffer
	numbers
}

func (b binding) bind() { b.buffer.f32, b.buffer.f64 = b.f32, b.f64 }

func (p *plan) carryOut() *memory {
	m := &memory{ops: p.ops, values: map[*op]G.Value{}, numbers: p.assign()}
	for _, o := range p.ops {
		m.values[o] = o.valueIn(m.numbers[slot{o.out, false}])
		for _, b := range o.writes() {
			m.bound = append(m.bound, binding{b, m.numbers[slot{b, false}]}) // nothing where it is not wanted
		}
	}
	return m
}

// valueIn is the Gorgonia value whose numbers are n. A scalar's are copied into it by every run.
func (o *op) valueIn(n numbers) G.Value {
	switch {
	case o.scalar && o.dtype == Float32:
		return G.NewF32(0)
	case o.scalar:
		return G.NewF64(0)
	case o.dtype == Float32:
		return tensor.New(tensor.WithShape(o.shape...), tensor.WithBacking(n.f32))
	}
	return tensor.New(tensor.WithShape(o.shape...), tensor.WithBacking(n.f64))
}

func (m *memory) bind() {
	for _, b := range m.bound {
		b.bind()
	}
	for o, v := range m.values {
		o.value = v
	}
}

// Bytes is the memory that the programs of the graph hold for results, gradients and what lies between, without the
// parameters.
func (g *Graph) Bytes() int { return 4*len(g.memory.f32) + 8*len(g.memory.f64) }
