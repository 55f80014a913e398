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
func Attention(qkv, mask Expr, h Heads, dropout float64) (y Expr, ok bool) {
	if !qkv.fused() {
		return Expr{}, false
	}
	return qkv.apply("attention", func() (*G.Node, error) {
		g := qkv.g
		if err := h.check(qkv.node, mask, h.Batch*h.Context); err != nil {
			return nil, err
		}
		d := g.dropping(dropout, g.dropKey(prefixed(qkv.scope, "attn_dropout"), dropout))
		s32, s64 := &weights[float32]{heads: kernel.Heads(h), drop: d}, &weights[float64]{heads: kernel.Heads(h), drop: d}
		return g.node(&op{
			name: fmt.Sprintf("attention(%v,%g)", h, dropout), shape: tensor.Shape{h.Batch * h.Context, h.Heads * h.V}, wrt: []bool{true, false},
			f32: s32.forward(g.pool), f64: s64.forward(g.pool),
			diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
				dqkv, err := g.node(&op{
					name: "attention.dqkv", shape: in[0].Shape().Clone(), f32: s32.backward(g.pool), f64: s64.backward(g.pool),
				}, in[0], grad, out)
				return G.Nodes{dqkv, nil}, err
			},
		}, qkv.node, mask.node)
	}, mask), true
}

// weights is what the forward pass leaves for the backward pass: the attention weights of every head.
type weights[T kernel.Float] struct {
	heads      kernel.Heads
	drop       func() kernel.Dropping
	p, scratch []T
}

func (s *weights[T]) size() int {
	return s.heads.Batch * s.heads.Heads * s.heads.Context * s.heads.Context
}

func (s *weights[T]) forward(p *kernel.Pool) body[T] {
	return func(y []T, in [][]T) error {
		if s.p == nil {
			s.p = make([]T, s.size())
		}
		kernel.Attention(p, s.heads, y, in[0], in[1], s.p, s.drop())
		return nil
	}
}

func (s *weights[T]) backward(p *kernel.Pool) body[T] {
	return func(dqkv []T, in [][]T) error {
		if s.scratch == nil {
			s.scratch = make([]T, s.size())
		}
		kernel.AttentionBackward(p, s.heads, dqkv, in[0], s.p, in[1], s.scratch, s.drop())
		return nil
	}
}
