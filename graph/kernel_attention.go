package graph

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Heads are the sizes of attention on packed projections: the rows of qkv are the Batch·Context tokens, its columns the
// queries of all heads, QK wide each, then the keys, QK wide, then the values, V wide.
type Heads struct{ Batch, Context, Heads, QK, V int }

// Width is the number of columns of the packed projections, Heads·(2·QK + V).
func (h Heads) Width() int { return h.Heads * (2*h.QK + h.V) }

func (h Heads) check(x *G.Node, rows int) error {
	if s := x.Shape(); s[0] != rows || s[1] != h.Width() {
		return errors.Errorf("%v is not (%d, %d), the packed projections of %+v", s, rows, h.Width(), h)
	}
	return nil
}

func (h Heads) cross() CrossHeads {
	return CrossHeads{h.Batch, h.Context, h.Context, h.Heads, h.QK, h.V}
}

// Attention is the kernel of concat over heads of softmax(q·kᵀ/√QK + mask)·v: (B·T, H(2·QK+V)) → (B·T, H·V). The mask is
// added to the scores, (T, T) for all sequences, (B, T, T), or (1 or B, 1 or H, T, T) where heads differ; dropout acts on
// the weights, at attn_dropout in qkv's scope. The weights are never stored: a query keeps two numbers for the backward
// pass, so the memory is linear in T.
func Attention(qkv, mask Expr, h Heads, dropout float64) (y Expr, ok bool) {
	if !qkv.fused() {
		return Expr{}, false
	}
	return qkv.apply("attention", func() (*G.Node, error) {
		if err := h.check(qkv.node, h.Batch*h.Context); err != nil {
			return nil, err
		}
		return qkv.attention(h.cross(), mask, dropout, qkv.node)
	}, mask), true
}

// attention is what the two passes share.
type attention struct {
	pool  *kernel.Pool
	heads kernel.Heads
	mask  [2]int        // matrices of the mask: for sequences, for heads
	spans *kernel.Spans // of the mask, as the first forward pass of the run found it
	run   *runContext
	lse   *buffer // log-sum-exp of every query's scores, in two parts
	drop  func() kernel.Dropping
}

// attention is the node, of one source, packed, or of two, the queries and what they look at.
func (x Expr) attention(h CrossHeads, mask Expr, dropout float64, sources ...*G.Node) (*G.Node, error) {
	if err := checkDropout(dropout); err != nil {
		return nil, err
	}
	g := x.g
	a := &attention{
		pool: g.pool, heads: kernel.Heads(h), spans: g.spansOf(mask.node), run: g.run, lse: &buffer{size: 2 * h.Batch * h.Heads * h.Queries},
		drop: g.dropping(dropout, g.dropKey(prefixed(x.scope, "attn_dropout"), dropout)),
	}
	var err error
	if a.mask[0], a.mask[1], err = h.masks(mask.node.Shape()); err != nil {
		return nil, err
	}
	scratch := &buffer{size: kernel.AttentionScratch(g.pool, a.heads)}
	return g.node(&op{
		name: fmt.Sprintf("attention(%v,%g)", h, dropout), shape: tensor.Shape{h.Batch * h.Queries, h.Heads * h.V},
		wrt: append(slices.Repeat([]bool{true}, len(sources)), false), fills: []*buffer{a.lse, scratch},
		f32: attentionForward[float32](a, scratch), f64: attentionForward[float64](a, scratch),
		diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) { return g.attentionBackward(a, in, out, grad) },
	}, append(sources, mask.node)...)
}

// attentionBackward is the gradient of the sources; the second one's is computed together with the first one's.
func (g *Graph) attentionBackward(a *attention, in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	scratch := &buffer{size: kernel.AttentionScratch(g.pool, a.heads)}
	fills, grads := []*buffer{scratch}, make(G.Nodes, len(in))
	var second *buffer
	if len(in) > 2 {
		second = &buffer{size: in[1].Shape().TotalSize()}
		fills = append(fills, second)
	}
	var err error
	grads[0], err = g.node(&op{
		name: "attention.backward", shape: in[0].Shape().Clone(), fills: fills, uses: []*buffer{a.lse},
		f32: attentionBackward[float32](a, second, scratch), f64: attentionBackward[float64](a, second, scratch),
	}, append(in[:len(in):len(in)], out, grad)...)
	if err == nil && second != nil {
		grads[1], err = g.part("attention.dkv", grads[0], second, in[1].Shape())
	}
	return grads, err
}

func attentionForward[T kernel.Float](a *attention, scratch *buffer) body[T] {
	return func(y []T, in [][]T) error {
		last := len(in) - 1
		a.spans.Run = a.run.serial
		kernel.Attention(a.pool, a.heads, a.spans, y, projections(a.heads, in[:last]), maskOf(a, in[last]), of[T](a.lse), of[T](scratch), a.drop())
		return nil
	}
}

func attentionBackward[T kernel.Float](a *attention, second, scratch *buffer) body[T] {
	return func(dx []T, in [][]T) error {
		last := len(in) - 3
		to := kernel.Packed(a.heads, dx)
		if second != nil {
			to = kernel.Crossed(a.heads, dx, of[T](second))
		}
		kernel.AttentionBackward(a.pool, a.heads, a.spans, to, projections(a.heads, in[:last]), maskOf(a, in[last]), in[last+1], in[last+2], of[T](a.lse), of[T](scratch), a.drop())
		return nil
	}
}

// spansOf are shared by all that attend under one mask: it is read once a run.
func (g *Graph) spansOf(mask *G.Node) *kernel.Spans {
	if g.spans[mask] == nil {
		g.spans[mask] = &kernel.Spans{}
	}
	return g.spans[mask]
}

func projections[T kernel.Float](h kernel.Heads, sources [][]T) kernel.Projections[T] {
	if len(sources) > 1 {
		return kernel.Crossed(h, sources[0], sources[1])
	}
	return kernel.Packed(h, sources[0])
}

func maskOf[T kernel.Float](a *attention, numbers []T) kernel.Mask[T] {
	return kernel.Mask[T]{Data: numbers, Batch: a.mask[0], Heads: a.mask[1]}
}
