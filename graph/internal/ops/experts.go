package ops

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/experts"
	G "gorgonia.org/gorgonia"
)

// expertsOp holds what the passes of a mixture of experts share.
type expertsOp struct {
	experts.Layer
	b                   *Builder
	x, gate, up, hidden *buffer // kept for the backward pass
}

// Experts returns the mixture l of experts. The operands are x, the gates, and the weights w_g of all experts, then
// w_u, then w_d.
func (b *Builder) Experts(l experts.Layer, operands ...*G.Node) (*G.Node, error) {
	hidden := func() *buffer { return &buffer{size: l.HiddenLen()} }
	o := &expertsOp{l, b, &buffer{size: l.RowsLen()}, hidden(), hidden(), hidden()}
	rows := &buffer{size: l.RowsLen()}
	return b.node(&Op{
		name:  fmt.Sprintf("experts(%d of %d)", l.Active, l.Experts),
		shape: operands[0].Shape(), fills: append(o.kept(), rows),
		f32: expertsForward[float32](o, rows), f64: expertsForward[float64](o, rows), diff: o.backward,
	}, operands...)
}

func (o *expertsOp) kept() []*buffer { return []*buffer{o.x, o.gate, o.up, o.hidden} }

// mixtureOf returns a function that returns the mixture with its memory, which the first call makes.
func mixtureOf[T kernel.Float](o *expertsOp) func() *experts.Mixture[T] {
	products := productsOf[T](o.b)
	m := &experts.Mixture[T]{Layer: o.Layer, Pool: o.b.Pool, Products: products}
	return func() *experts.Mixture[T] {
		if m.Routes == nil {
			m.Routes = experts.NewRoutes[T](o.Layer)
		}
		return m
	}
}

// weightsOf returns the weights among operands, from those of the gates on.
func weightsOf[T kernel.Float](o *expertsOp, w [][]T) experts.Weights[T] {
	n := o.Layer.Experts
	return experts.Weights[T]{Gate: w[:n], Up: w[n : 2*n], Down: w[2*n : 3*n]}
}

func keptOf[T kernel.Float](o *expertsOp) experts.Kept[T] {
	return experts.Kept[T]{X: of[T](o.x), Gate: of[T](o.gate), Up: of[T](o.up), Hidden: of[T](o.hidden)}
}

func expertsForward[T kernel.Float](o *expertsOp, rows *buffer) body[T] {
	mixture := mixtureOf[T](o)
	return func(y []T, in [][]T) {
		mixture().Forward(y, in[0], in[1], weightsOf(o, in[2:]), keptOf[T](o), of[T](rows))
	}
}

// backward returns the gradients of all operands: that of x, whose operation fills the others.
func (o *expertsOp) backward(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	var parts []*buffer // of the operands after x
	for _, n := range in[1:] {
		parts = append(parts, &buffer{part: true, size: n.Shape().TotalSize()})
	}
	scratch := []*buffer{
		{size: o.RowsLen()}, {size: o.HiddenLen()}, {size: o.HiddenLen()}, {size: o.HiddenLen()}, {size: o.Places()},
	}
	dx, err := o.b.node(&Op{
		name: "experts.dx", shape: in[0].Shape(), uses: o.kept(),
		fills: append(scratch, parts...),
		f32:   expertsBackward[float32](o, parts, scratch), f64: expertsBackward[float64](o, parts, scratch),
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

func expertsBackward[T kernel.Float](o *expertsOp, parts, scratch []*buffer) body[T] {
	mixture := mixtureOf[T](o)
	weights := make([][]T, len(parts)-1)
	return func(dx []T, in [][]T) {
		for i, part := range parts[1:] {
			weights[i] = of[T](part)
		}
		mixture().Backward(experts.Grads[T]{
			X: dx, Gates: of[T](parts[0]), Weights: weightsOf(o, weights), Rows: of[T](scratch[0]),
			Hidden: of[T](scratch[1]), Gate: of[T](scratch[2]), Up: of[T](scratch[3]), Pairs: of[T](scratch[4]),
		}, in[len(in)-1], in[0], weightsOf(o, in[1:]), keptOf[T](o))
	}
}
