package ops

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/experts"
	G "gorgonia.org/gorgonia"
)

// expertsOp holds what the passes of a mixture of experts share.
type expertsOp struct {
	experts.Layer
	b *Builder
	ExpertMatrices
	x, gate, up, hidden *buffer    // kept for the backward pass
	low                 [3]*buffer // likewise, of the adapters; nil without
}

// ExpertMatrices describes the matrices of the experts: w_g of all, then w_u, then w_d.
type ExpertMatrices struct {
	Packed  []Weights // nil for those that are operands
	Adapted []bool    // those with adapters
	Scale   float64   // of the adapters
}

// Experts returns the mixture l of experts. The operands are x, the gates, the matrices without those that are packed,
// and the two of each adapter. With a packed one it has no derivative.
func (b *Builder) Experts(l experts.Layer, m ExpertMatrices, operands ...*G.Node) (*G.Node, error) {
	hidden := func() *buffer { return &buffer{size: l.HiddenLen()} }
	o := &expertsOp{l, b, m, &buffer{size: l.RowsLen()}, hidden(), hidden(), hidden(), lowBuffers(l)}
	rows := &buffer{size: l.RowsLen()}
	op := &Op{
		name:  fmt.Sprintf("experts(%d of %d)", l.Active, l.Experts),
		shape: operands[0].Shape(), fills: append(o.kept(), rows),
		f32: expertsForward[float32](o, rows), f64: expertsForward[float64](o, rows), diff: o.backward,
	}
	if slices.ContainsFunc(m.Packed, func(w Weights) bool { return w != nil }) {
		op.diff, op.wrt = nil, make([]bool, len(operands))
	}
	return b.node(op, operands...)
}

func (o *expertsOp) kept() []*buffer {
	return append([]*buffer{o.x, o.gate, o.up, o.hidden}, made(o.low)...)
}

// lowBuffers returns memory for rows of the rank of the adapters, if there are any.
func lowBuffers(l experts.Layer) (list [3]*buffer) {
	if l.Rank > 0 {
		for i := range list {
			list[i] = &buffer{size: l.LowLen()}
		}
	}
	return list
}

// made returns the buffers that there are.
func made(list [3]*buffer) []*buffer {
	return slices.DeleteFunc(list[:], func(b *buffer) bool { return b == nil })
}

func lowOf[T kernel.Float](list [3]*buffer) experts.Low[T] {
	return experts.Low[T]{Gate: of[T](list[0]), Up: of[T](list[1]), Down: of[T](list[2])}
}

// mixture holds a mixture with its memory, which the first run makes.
type mixture[T kernel.Float] struct {
	experts.Mixture[T]
	ExpertMatrices
	matrices []experts.Matrix[T]
}

func mixtureOf[T kernel.Float](o *expertsOp) *mixture[T] {
	return &mixture[T]{
		Mixture: experts.Mixture[T]{
			Layer: o.Layer, Pool: o.b.Pool, Products: productsOf[T](o.b), Scale: T(o.Scale),
		},
		ExpertMatrices: o.ExpertMatrices,
	}
}

// start makes the memory of the first run.
func (m *mixture[T]) start() {
	if m.Routes == nil {
		m.Routes, m.matrices = experts.NewRoutes[T](m.Layer), make([]experts.Matrix[T], len(m.Packed))
	}
}

// weights returns the matrices, of which w holds those that are not packed, then the adapters.
func (m *mixture[T]) weights(w [][]T) experts.Weights[T] {
	for i, p := range m.Packed {
		if m.matrices[i] = (experts.Matrix[T]{}); p != nil {
			m.matrices[i].Packed = p
		} else {
			m.matrices[i].Data, w = w[0], w[1:]
		}
	}
	for i, adapted := range m.Adapted {
		if adapted {
			m.matrices[i].A, m.matrices[i].B, w = w[0], w[1], w[2:]
		}
	}
	return m.split(m.matrices)
}

// split divides matrices in their order among the experts.
func (m *mixture[T]) split(all []experts.Matrix[T]) experts.Weights[T] {
	n := m.Experts
	return experts.Weights[T]{Gate: all[:n], Up: all[n : 2*n], Down: all[2*n : 3*n]}
}

func keptOf[T kernel.Float](o *expertsOp) experts.Kept[T] {
	return experts.Kept[T]{
		X: of[T](o.x), Gate: of[T](o.gate), Up: of[T](o.up), Hidden: of[T](o.hidden), Low: lowOf[T](o.low),
	}
}

func expertsForward[T kernel.Float](o *expertsOp, rows *buffer) body[T] {
	m := mixtureOf[T](o)
	return func(y []T, in [][]T) {
		m.start()
		m.Forward(y, in[0], in[1], m.weights(in[2:]), keptOf[T](o), of[T](rows))
	}
}

// backward returns the gradients of all operands: the gradient of x, whose operation fills the others.
func (o *expertsOp) backward(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	var parts []*buffer // of the operands after x
	for _, n := range in[1:] {
		parts = append(parts, &buffer{part: true, size: n.Shape().TotalSize()})
	}
	scratch := []*buffer{
		{size: o.RowsLen()}, {size: o.HiddenLen()}, {size: o.HiddenLen()}, {size: o.HiddenLen()}, {size: o.Places()},
	}
	low := lowBuffers(o.Layer)
	dx, err := o.b.node(&Op{
		name: "experts.dx", shape: in[0].Shape(), uses: o.kept(),
		fills: slices.Concat(scratch, made(low), parts),
		f32:   expertsBackward[float32](o, parts, scratch, low),
		f64:   expertsBackward[float64](o, parts, scratch, low),
	}, append(in[1:len(in):len(in)], out, grad)...)
	grads := G.Nodes{dx}
	for i, part := range parts {
		if err == nil {
			var n *G.Node
			n, err = o.b.part(fmt.Sprintf("experts.d%d", i+1), dx, part, in[i+1].Shape())
			grads = append(grads, n)
		}
	}
	return grads, err
}

func expertsBackward[T kernel.Float](o *expertsOp, parts, scratch []*buffer, low [3]*buffer) body[T] {
	m, grads := mixtureOf[T](o), make([]experts.Matrix[T], len(o.Adapted))
	return func(dx []T, in [][]T) {
		m.start()
		rest := parts[1+len(grads):]
		for i, part := range parts[1 : 1+len(grads)] {
			if grads[i].Data = of[T](part); o.Adapted[i] {
				grads[i].A, grads[i].B, rest = of[T](rest[0]), of[T](rest[1]), rest[2:]
			}
		}
		m.Backward(experts.Grads[T]{
			X: dx, Gates: of[T](parts[0]), Weights: m.split(grads), Rows: of[T](scratch[0]),
			Hidden: of[T](scratch[1]), Gate: of[T](scratch[2]), Up: of[T](scratch[3]), Pairs: of[T](scratch[4]),
			Low: lowOf[T](low),
		}, in[len(in)-1], in[0], m.weights(in[1:]), keptOf[T](o))
	}
}
