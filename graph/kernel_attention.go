package graph

import (
	"fmt"

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

func (h Heads) check(x *G.Node, mask Expr, rows int) error {
	if s := x.Shape(); s[0] != rows || s[1] != h.Width() {
		return errors.Errorf("%v is not (%d, %d), the packed projections of %+v", s, rows, h.Width(), h)
	}
	if n := mask.node.Shape().TotalSize(); n != h.Context*h.Context && n != h.Batch*h.Context*h.Context {
		return errors.Errorf("a mask of %d entries is neither %d nor %d", n, h.Context*h.Context, h.Batch*h.Context*h.Context)
	}
	return nil
}

// Attention is the kernel of concat over heads of softmax(q·kᵀ/√QK + mask)·v: (B·T, H(2·QK+V)) → (B·T, H·V). The mask is
// added to the scores, (T, T) for all sequences or (B, T, T); dropout acts on the weights, at attn_dropout in qkv's scope.
// The weights are never stored: a query keeps two numbers for the backward pass, so the memory is linear in T.
func Attention(qkv, mask Expr, h Heads, dropout float64) (y Expr, ok bool) {
	if !qkv.fused() {
		return Expr{}, false
	}
	return qkv.apply("attention", func() (*G.Node, error) {
		g := qkv.g
		if err := h.check(qkv.node, mask, h.Batch*h.Context); err != nil {
			return nil, err
		}
		a := &attention{
			pool: g.pool, heads: kernel.Heads(h), lse: &buffer{size: 2 * h.Batch * h.Heads * h.Context},
			drop: g.dropping(dropout, g.dropKey(prefixed(qkv.scope, "attn_dropout"), dropout)),
		}
		scratch := &buffer{size: kernel.AttentionScratch(g.pool, a.heads)}
		return g.node(&op{
			name: fmt.Sprintf("attention(%v,%g)", h, dropout), shape: tensor.Shape{h.Batch * h.Context, h.Heads * h.V}, wrt: []bool{true, false},
			fills: []*buffer{a.lse, scratch},
			f32:   attentionForward[float32](a, scratch), f64: attentionForward[float64](a, scratch),
			diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
				scratch := &buffer{size: scratch.size}
				dqkv, err := g.node(&op{
					name: "attention.dqkv", shape: in[0].Shape().Clone(), fills: []*buffer{scratch}, uses: []*buffer{a.lse},
					f32: attentionBackward[float32](a, scratch), f64: attentionBackward[float64](a, scratch),
				}, in[0], in[1], out, grad)
				return G.Nodes{dqkv, nil}, err
			},
		}, qkv.node, mask.node)
	}, mask), true
}

// attention is what the two passes share.
type attention struct {
	pool  *kernel.Pool
	heads kernel.Heads
	spans kernel.Spans // of the mask, as the forward pass found it
	lse   *buffer      // log-sum-exp of every query's scores, in two parts
	drop  func() kernel.Dropping
}

func attentionForward[T kernel.Float](a *attention, scratch *buffer) body[T] {
	return func(y []T, in [][]T) error {
		kernel.Attention(a.pool, a.heads, &a.spans, y, in[0], in[1], of[T](a.lse), of[T](scratch), a.drop())
		return nil
	}
}

func attentionBackward[T kernel.Float](a *attention, scratch *buffer) body[T] {
	return func(dqkv []T, in [][]T) error {
		kernel.AttentionBackward(a.pool, a.heads, &a.spans, dqkv, in[0], in[1], in[2], in[3], of[T](a.lse), of[T](scratch), a.drop())
		return nil
	}
}
