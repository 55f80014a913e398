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
	drop  func() kernel.DropMask
}

// Attention returns softmax attention of packed projections, or of two sources: the queries, and the keys and values.
// The mask has masks[0] matrices for the sequences and masks[1] for the heads. The weights are never stored.
func (b *Builder) Attention(
	h attention.Shape, drop Drop, masks [2]int, mask *G.Node, sources ...*G.Node,
) (*G.Node, error) {
	a := &attentionOp{
		b: b, pool: b.Pool, shape: h, mask: masks,
		spans: b.spansOf(mask), lse: &buffer{size: 2 * h.Batch * h.Heads * h.Queries}, drop: b.mask(drop),
	}
	scratch := a.scratch()
	return b.node(&Op{
		name: fmt.Sprintf("attention(%v,%g)", h, drop.P), shape: tensor.Shape{h.Batch * h.Queries, h.Heads * h.V},
		wrt: append(slices.Repeat([]bool{true}, len(sources)), false), fills: []*buffer{a.lse, scratch},
		f32: attentionForward[float32](a, scratch), f64: attentionForward[float64](a, scratch), diff: a.backward,
	}, append(sources, mask)...)
}

func (a *attentionOp) scratch() *buffer {
	return &buffer{size: attention.FlashScratch(a.pool, a.shape)}
}

// backward returns the gradients of the sources. The operation of the first one computes the second one as well.
func (a *attentionOp) backward(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	scratch := a.scratch()
	fills := []*buffer{scratch}
	var second *buffer
	if len(in) > 2 {
		second = &buffer{size: in[1].Shape().TotalSize()}
		fills = append(fills, second)
	}
	first, err := a.b.node(&Op{
		name: "attention.backward", shape: in[0].Shape(), fills: fills, uses: []*buffer{a.lse},
		f32: attentionBackward[float32](a, second, scratch), f64: attentionBackward[float64](a, second, scratch),
	}, append(in[:len(in):len(in)], out, grad)...)
	if err != nil || second == nil {
		return G.Nodes{first}, err
	}
	part, err := a.b.part("attention.dkv", first, second, in[1].Shape())
	return G.Nodes{first, part}, err
}

func attentionForward[T kernel.Float](a *attentionOp, scratch *buffer) body[T] {
	f := &attention.Flash[T]{Shape: a.shape, Products: productsOf[T](a.b), Spans: a.spans}
	return func(y []T, in [][]T) {
		a.spans.Run = a.b.Run.serial
		last := len(in) - 1
		bindFlash(a, f, in[:last], in[last], scratch)
		f.Forward(a.pool, y)
	}
}

func attentionBackward[T kernel.Float](a *attentionOp, second, scratch *buffer) body[T] {
	f := &attention.Flash[T]{Shape: a.shape, Products: productsOf[T](a.b), Spans: a.spans}
	return func(dx []T, in [][]T) {
		mask := len(in) - 3 // y and its gradient follow
		grads := attention.Packed(a.shape, dx)
		if second != nil {
			grads = attention.Crossed(a.shape, dx, of[T](second))
		}
		bindFlash(a, f, in[:mask], in[mask], scratch)
		f.Backward(a.pool, grads, in[mask+1], in[mask+2])
	}
}

// bindFlash sets f's operands for this run: the sources, and the mask.
func bindFlash[T kernel.Float](a *attentionOp, f *attention.Flash[T], sources [][]T, mask []T, scratch *buffer) {
	f.In = attention.Packed(a.shape, sources[0])
	if len(sources) > 1 {
		f.In = attention.Crossed(a.shape, sources[0], sources[1])
	}
	f.Mask = attention.Mask[T]{Data: mask, Batch: a.mask[0], Heads: a.mask[1]}
	f.LSE, f.Scratch, f.Drop = of[T](a.lse), of[T](scratch), a.drop()
}

// spansOf returns the spans of a mask. All attention with that mask shares them, so that a run reads the mask once.
func (b *Builder) spansOf(mask *G.Node) *attention.Spans {
	if b.spans[mask] == nil {
		b.spans[mask] = &attention.Spans{}
	}
	return b.spans[mask]
}
