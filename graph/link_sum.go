package graph

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	G "gorgonia.org/gorgonia"
)

// sum makes a turn of the addition of two gradients. Of one that has some rows alone, such as that of a table which is
// a head as well, these are added where the other lies: for GPT-2's table that spares half a gigabyte of reading and
// writing.
func (l *linker) sum(o *plan.Op, n *G.Node, children G.Nodes) {
	own := &op{
		dtype: l.g.dtype, out: &buffer{size: n.Shape().TotalSize()}, f32: add[float32](l.g.pool), f64: add[float64](l.g.pool),
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

// fold finds the gradients of some rows that one sum alone needs, one for each sum.
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
			if own, ours := c.Op().(*op); ours && own.rows.node != nil && needed[c] == 1 && !slices.Contains(l.outputs, c) {
				l.folded[c] = true
				break
			}
		}
	}
}
