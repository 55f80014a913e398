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
	spans *attention.Spans // spans of the mask, found by the first forward pass of the run
	lse   *buffer          // log-sum-exp of every query's scores, in two parts
	from  int              // number of sources
	drop  func() kernel.DropMask
}

// Attention returns softmax attention of packed projections, or of two sources: the queries, and the keys and values.
// The mask has masks[0] matrices for the sequences and masks[1] for the heads. sinks has the logit of a sink for each
// head; it is nil without. The weights are never stored.
func (b *Builder) Attention(
	h attention.Shape, drop Drop, masks [2]int, mask, sinks *G.Node, sources ...*G.Node,
) (*G.Node, error) {
	a := &attentionOp{
		b: b, pool: b.Pool, shape: h, mask: masks,
		spans: b.spansOf(mask), lse: &buffer{size: 2 * h.Batch * h.Heads * h.Queries}, drop: b.mask(drop),
		from: len(sources),
	}
	scratch := a.scratch()
	wrt, in := append(slices.Repeat([]bool{true}, len(sources)), false), append(sources, mask)
	if sinks != nil {
		wrt, in = append(wrt, true), append(in, sinks)
	}
	return b.node(&Op{
		name: fmt.Sprintf("attention(%v,%g)", h, drop.P), shape: tensor.Shape{h.Batch * h.Queries, h.Heads * h.V},
		wrt: wrt, fills: []*buffer{a.lse, scratch}, diff: a.backward,
		f32: attentionForward[float32](a, scratch), f64: attentionForward[float64](a, scratch),
	}, in...)
}

func (a *attentionOp) scratch() *buffer {
	return &buffer{size: attention.FlashScratch(a.pool, a.shape)}
}

// backward returns the gradients of the sources and of the sinks. The operation of the first source computes the second
// one as well.
func (a *attentionOp) backward(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	scratch := a.scratch()
	fills := []*buffer{scratch}
	var second *buffer
	if a.from > 1 {
		second = &buffer{size: in[1].Shape().TotalSize()}
		fills = append(fills, second)
	}
	first, err := a.b.node(&Op{
		name: "attention.backward", shape: in[0].Shape(), fills: fills, uses: []*buffer{a.lse},
		f32: attentionBackward[float32](a, second, scratch), f64: attentionBackward[float64](a, second, scratch),
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
		f.Forward(a.pool, y)
	}
}

func attentionBackward[T kernel.Float](a *attentionOp, second, scratch *buffer) body[T] {
	f := &attention.Flash[T]{Shape: a.shape, Products: productsOf[T](a.b), Spans: a.spans}
	return func(dx []T, in [][]T) {
		grads := attention.Packed(a.shape, dx)
		if second != nil {
			grads = attention.Crossed(a.shape, dx, of[T](second))
		}
		n := len(in) - 2 // y and its gradient follow
		bindFlash(a, f, in[:n], scratch)
		f.Backward(a.pool, grads, in[n], in[n+1])
	}
}

func sinksBackward[T kernel.Float](a *attentionOp) body[T] {
	f := &attention.Flash[T]{Shape: a.shape, Products: productsOf[T](a.b), Spans: a.spans}
	return func(db []T, in [][]T) {
		n := len(in) - 2
		bindFlash(a, f, in[:n], &buffer{})
		f.SinkGradients(a.pool, db, in[n], in[n+1])
	}
}

// bindFlash sets f's operands for this run: the sources, the mask, and the sinks, if any.
func bindFlash[T kernel.Float](a *attentionOp, f *attention.Flash[T], in [][]T, scratch *buffer) {
	f.In = attention.Packed(a.shape, in[0])
	if a.from > 1 {
		f.In = attention.Crossed(a.shape, in[0], in[1])
	}
	if len(in) > a.from+1 {
		f.Sinks = in[a.from+1]
	}
	f.Mask = attention.Mask[T]{Data: in[a.from], Batch: a.mask[0], Heads: a.mask[1]}
	f.LSE, f.Scratch, f.Drop = of[T](a.lse), of[T](scratch), a.drop()
}

// spansOf returns the spans of a mask. All attention with that mask shares them, so that a run reads the mask once.
func (b *Builder) spansOf(mask *G.Node) *attention.Spans {
	if b.spans[mask] == nil {
		b.spans[mask] = &attention.Spans{}
	}
	return b.spans[mask]
}
