package ops

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// attentionOp holds what the two passes share.
type attentionOp struct {
	b     *Builder
	pool  *kernel.Pool
	shape attention.Shape
	mask  [2]int           // number of matrices of the mask: for the sequences, for the heads
	rule  *Rule            // of the mask; nil if it is stored
	spans *attention.Spans // spans of the mask, found by the first forward pass of the run
	lse   *buffer          // log-sum-exp of every query's scores, in two parts
	from  int              // number of sources
	decay *buffer          // running sums of the gates of attention that forgets; nil without
	drop  func() kernel.DropMask
}

// Extra is an optional operand of attention: the logits of the heads' sinks (Heads), or the logarithms of the gates of
// attention that forgets (Batch·Queries, Heads).
type Extra struct{ Sinks, Gates *G.Node }

// nodes returns the operand, if there is one.
func (e Extra) nodes() G.Nodes {
	return slices.DeleteFunc(G.Nodes{e.Sinks, e.Gates}, func(n *G.Node) bool { return n == nil })
}

// Attention returns softmax attention of packed projections, or of two sources: the queries, and the keys and values.
// The mask has masks[0] matrices for the sequences and masks[1] for the heads. The weights are never stored.
func (b *Builder) Attention(
	h attention.Shape, drop Drop, masks [2]int, mask *G.Node, extra Extra, sources ...*G.Node,
) (*G.Node, error) {
	a := &attentionOp{
		b: b, pool: b.Pool, shape: h, mask: masks, rule: b.Rule(mask),
		spans: b.spansOf(mask), lse: &buffer{size: 2 * h.Batch * h.Heads * h.Queries}, drop: b.mask(drop),
		from: len(sources),
	}
	scratch := a.scratch()
	wrt, in := append(slices.Repeat([]bool{true}, len(sources)), false), append(sources, mask)
	for _, n := range extra.nodes() {
		wrt, in = append(wrt, true), append(in, n)
	}
	fills := []*buffer{a.lse, scratch}
	if extra.Gates != nil {
		a.decay = a.sums()
		fills = append(fills, a.decay)
	}
	return b.node(&Op{
		name: fmt.Sprintf("attention(%v,%g)", h, drop.P), shape: tensor.Shape{h.Batch * h.Queries, h.Heads * h.V},
		wrt: wrt, fills: fills, diff: a.backward,
		f32: attentionForward[float32](a, scratch), f64: attentionForward[float64](a, scratch),
	}, in...)
}

func (a *attentionOp) scratch() *buffer {
	return &buffer{size: attention.FlashScratch(a.pool, a.shape)}
}

// sums returns a buffer with a number of every token in every head.
func (a *attentionOp) sums() *buffer {
	return &buffer{size: a.shape.Batch * a.shape.Heads * a.shape.Queries}
}

// backward returns the gradients of the sources and of the extra operand. The operation of the first source computes
// the second one as well, and the gradient of the running sums of gates.
func (a *attentionOp) backward(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	scratch := a.scratch()
	fills := []*buffer{scratch}
	var second *buffer
	if a.from > 1 {
		second = &buffer{size: in[1].Shape().TotalSize()}
		fills = append(fills, second)
	}
	uses := []*buffer{a.lse}
	var dc *buffer
	if a.decay != nil {
		dc = a.sums()
		fills, uses = append(fills, dc), append(uses, a.decay)
	}
	first, err := a.b.node(&Op{
		name: "attention.backward", shape: in[0].Shape(), fills: fills, uses: uses,
		f32: attentionBackward[float32](a, second, scratch, dc),
		f64: attentionBackward[float64](a, second, scratch, dc),
	}, append(in[:len(in):len(in)], out, grad)...)
	grads := G.Nodes{first}
	if err == nil && second != nil {
		var part *G.Node
		part, err = a.b.part("attention.dkv", first, second, in[1].Shape())
		grads = append(grads, part)
	}
	if err != nil || len(in) == a.from+1 {
		return grads, err
	}
	if dc != nil {
		gates, err := a.b.node(&Op{
			name: "attention.dgates", shape: in[a.from+1].Shape(), uses: []*buffer{dc},
			f32: gatesBackward[float32](a, dc), f64: gatesBackward[float64](a, dc),
		}, first)
		return append(grads, nil, gates), err
	}
	sinks, err := a.b.node(&Op{
		name: "attention.dsinks", shape: in[a.from+1].Shape(), uses: []*buffer{a.lse},
		f32: sinksBackward[float32](a), f64: sinksBackward[float64](a),
	}, append(in[:len(in):len(in)], out, grad)...)
	return append(grads, nil, sinks), err // nil for the mask
}

func attentionForward[T kernel.Float](a *attentionOp, scratch *buffer) body[T] {
	f := &attention.Flash[T]{Shape: a.shape, Products: productsOf[T](a.b), Spans: a.spans}
	return func(y []T, in [][]T) {
		a.spans.Run = a.b.Run.serial
		bindFlash(a, f, in, scratch)
		if a.decay != nil {
			attention.Cumulate(a.pool, a.shape, f.Decay, in[a.from+1])
		}
		f.Forward(a.pool, y)
	}
}

func attentionBackward[T kernel.Float](a *attentionOp, second, scratch, dc *buffer) body[T] {
	f := &attention.Flash[T]{Shape: a.shape, Products: productsOf[T](a.b), Spans: a.spans}
	return func(dx []T, in [][]T) {
		grads := attention.Packed(a.shape, dx)
		if second != nil {
			grads = attention.Crossed(a.shape, dx, of[T](second))
		}
		n := len(in) - 2 // y and its gradient follow
		bindFlash(a, f, in[:n], scratch)
		f.DecayGrad = of[T](dc)
		f.Backward(a.pool, grads, in[n], in[n+1])
	}
}

func gatesBackward[T kernel.Float](a *attentionOp, dc *buffer) body[T] {
	return func(dx []T, _ [][]T) { attention.CumulateBackward(a.pool, a.shape, dx, of[T](dc)) }
}

func sinksBackward[T kernel.Float](a *attentionOp) body[T] {
	f := &attention.Flash[T]{Shape: a.shape, Products: productsOf[T](a.b), Spans: a.spans}
	return func(db []T, in [][]T) {
		n := len(in) - 2
		bindFlash(a, f, in[:n], &buffer{})
		f.SinkGradients(a.pool, db, in[n], in[n+1])
	}
}

// bindFlash sets f's operands for this run: the sources, the mask, and the sinks or the sums of gates, if any.
func bindFlash[T kernel.Float](a *attentionOp, f *attention.Flash[T], in [][]T, scratch *buffer) {
	f.In = attention.Packed(a.shape, in[0])
	if a.from > 1 {
		f.In = attention.Crossed(a.shape, in[0], in[1])
	}
	switch {
	case a.decay != nil:
		f.Decay = of[T](a.decay)
	case len(in) > a.from+1:
		f.Sinks = in[a.from+1]
	}
	f.Mask = maskOf(in[a.from], a.rule, a.mask[0], a.mask[1])
	f.LSE, f.Scratch, f.Drop = of[T](a.lse), of[T](scratch), a.drop()
}

// spansOf returns the spans of a mask. All attention with that mask shares them, so that a run reads the mask once.
func (b *Builder) spansOf(mask *G.Node) *attention.Spans {
	if b.spans[mask] == nil {
		b.spans[mask] = &attention.Spans{}
	}
	return b.spans[mask]
}
