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
// it, or scratch. A Program binds it to numbers before it runs.
type buffer struct {
	size int
	part bool // wanted only where the operation that returns it is part of the program

	f32 []float32
	f64 []float64
}

func (b *buffer) bind(n numbers) { b.f32, b.f64 = n.f32, n.f64 }

// numbers are some floats of either type.
type numbers struct {
	f32 []float32
	f64 []float64
}

func (n numbers) first(size int) numbers {
	if n.f32 != nil {
		return numbers{f32: n.f32[:size:size]}
	}
	return numbers{f64: n.f64[:size:size]}
}

func (n numbers) len() int { return len(n.f32) + len(n.f64) }

// plan gives every buffer of a program memory, and lets two share it if one is done with before the other begins. order is
// the order of execution.
type plan struct {
	graph       *Graph
	first, last map[*buffer]int
	holds       map[*G.Node][]*buffer // what a node's value may lie in
	ops         map[*G.Node]*op       // what computes a node, where it is one of ours
}

func newPlan(g *Graph, order, outputs G.Nodes, ops map[*G.Node]*op) *plan {
	p := &plan{graph: g, ops: ops, first: map[*buffer]int{}, last: map[*buffer]int{}, holds: map[*G.Node][]*buffer{}}
	for i, n := range order {
		children := g.children(n)
		for _, c := range children {
			for _, b := range p.holds[c] {
				p.last[b] = max(p.last[b], i)
			}
		}
		o, ours := ops[n]
		if !ours {
			p.stock(n, children)
			continue
		}
		p.holds[n] = []*buffer{o.out}
		for _, b := range append([]*buffer{o.out}, o.fills...) {
			if _, seen := p.first[b]; !seen {
				p.first[b] = i
			}
			p.last[b] = max(p.last[b], i)
		}
		for _, b := range o.uses {
			p.last[b] = max(p.last[b], i)
		}
	}
	for _, n := range outputs {
		for _, b := range p.holds[n] {
			p.last[b] = math.MaxInt
		}
	}
	p.dropUnwanted()
	return p
}

// stock notes that a stock operation may work in place, or hand its operand on: its value may lie in the memory of any
// operand of its size.
func (p *plan) stock(n *G.Node, children G.Nodes) {
	for _, c := range children {
		for _, b := range p.holds[c] {
			if b.size == n.Shape().TotalSize() && !slices.Contains(p.holds[n], b) {
				p.holds[n] = append(p.holds[n], b)
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
	for b := range p.first {
		if b.part && !returned[b] {
			delete(p.first, b)
		}
	}
}

// block is memory that several buffers take turns in; it is free after the given position.
type block struct {
	numbers
	until int
}

// assign finds memory for every buffer: the smallest free block that holds it, or a new one. The graph's programs share
// their blocks, because they do not run at the same time.
func (p *plan) assign() map[*buffer]numbers {
	order := make([]*buffer, 0, len(p.first))
	for b := range p.first {
		order = append(order, b)
	}
	slices.SortFunc(order, func(a, b *buffer) int { // of those that begin together, the largest first
		return cmp.Or(cmp.Compare(p.first[a], p.first[b]), cmp.Compare(b.size, a.size), cmp.Compare(p.last[a], p.last[b]))
	})
	for _, b := range p.graph.blocks {
		b.until = -1
	}
	out := map[*buffer]numbers{}
	for _, b := range order {
		var best *block
		for _, k := range p.graph.blocks {
			if k.until < p.first[b] && k.len() >= b.size && (best == nil || k.len() < best.len()) {
				best = k
			}
		}
		if best == nil || p.graph.private {
			best = &block{numbers: p.graph.alloc(b.size)}
			p.graph.blocks = append(p.graph.blocks, best)
		}
		best.until = p.last[b]
		out[b] = best.first(b.size)
	}
	return out
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

// memory is a plan carried out: what a program binds before it runs.
type memory struct {
	ops     map[*G.Node]*op
	values  map[*op]G.Value
	buffers map[*buffer]numbers
	unused  []*buffer
}

func (p *plan) carryOut() *memory {
	m := &memory{ops: p.ops, buffers: p.assign(), values: map[*op]G.Value{}}
	for _, o := range p.ops {
		m.values[o] = o.valueIn(m.buffers[o.out])
		for _, b := range o.fills {
			if _, wanted := m.buffers[b]; !wanted {
				m.unused = append(m.unused, b)
			}
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
	for b, n := range m.buffers {
		b.bind(n)
	}
	for _, b := range m.unused {
		b.bind(numbers{})
	}
	for o, v := range m.values {
		o.value = v
	}
}

// Bytes is the memory that the programs of the graph hold for results, gradients and what lies between, without the
// parameters.
func (g *Graph) Bytes() (n int) {
	for _, b := range g.blocks {
		n += 4*len(b.f32) + 8*len(b.f64)
	}
	return n
}
