package graph

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	G "gorgonia.org/gorgonia"
)

// sum plans the addition of two gradients. If one has only some rows, such as that of a table that is also the head,
// these rows are added in the memory of the other. For GPT-2's table this saves half a gigabyte of reading and writing.
func (l *linker) sum(o *plan.Op, n *G.Node, children G.Nodes) {
	own := &op{
		dtype: l.g.dtype, out: &buffer{size: n.Shape().TotalSize()},
		f32: add[float32](l.g.pool), f64: add[float64](l.g.pool),
	}
	for _, c := range children {
		if l.folded[c] {
			ids := c.Op().(*op).rows.Ints()
			own.f32, own.f64 = addRows[float32](l.g.pool, ids, n.Shape()), addRows[float64](l.g.pool, ids, n.Shape())
			o.Inputs, o.Over = append(o.Inputs, l.ops[l.g.children(c)[0]]), true
		}
	}
	l.kernel(o, own)
}

// fold finds the gradients with only some rows that no other operation than one sum needs, at most one per sum.
func (l *linker) fold(order G.Nodes) {
	needed := map[*G.Node]int{}
	for _, n := range order {
		for _, c := range l.g.children(n) {
			needed[c]++
		}
	}
	l.folded = map[*G.Node]bool{}
	for _, n := range order {
		children := l.g.children(n)
		if !l.g.isSum(n, children) {
			continue
		}
		for _, c := range children {
			own, ours := c.Op().(*op)
			if ours && own.rows.node != nil && needed[c] == 1 && !slices.Contains(l.outputs, c) {
				l.folded[c] = true
				break
			}
		}
	}
}
