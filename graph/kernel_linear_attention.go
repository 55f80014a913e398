package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Features is a map φ of queries and keys: in linear attention a key weighs φ(q)·φ(k) for a query.
type Features struct {
	name string
	f32  kernel.Features[float32]
	f64  kernel.Features[float64]
}

// EluPlusOne is φ(x) = elu(x) + 1, entry by entry: x + 1 for x > 0, else eˣ.
func EluPlusOne() Features {
	return Features{"elu+1", kernel.EluPlusOne[float32]{}, kernel.EluPlusOne[float64]{}}
}

// TaylorFeatures is φ(x) = [1, x/√(‖x‖² + eps)], so that the weights are 1 + q̂·k̂.
func TaylorFeatures(eps float64) Features {
	return Features{fmt.Sprintf("taylor,%g", eps), kernel.Taylor[float32]{Eps: eps}, kernel.Taylor[float64]{Eps: eps}}
}

// LinearHeads say what linear attention does with packed projections: whether a query sees only the keys up to its own,
// and by which φ keys weigh.
type LinearHeads struct {
	Heads
	Causal   bool
	Features Features
}

// LinearAttention is the kernel of concat over heads of Σ_j φ(q_i)·φ(k_j)·v_j / Σ_j φ(q_i)·φ(k_j):
// (B·T, H(2·QK+V)) → (B·T, H·V). A key that the last query does not see in the mask, (T, T) for all sequences or (B, T, T),
// counts for no query; an empty mask hides none. Sums over the keys so far go from one chunk of tokens to the next: time
// and memory are linear in T.
func LinearAttention(qkv, mask Expr, h LinearHeads) (y Expr, ok bool) {
	if !qkv.fused() {
		return Expr{}, false
	}
	sources := []Expr{qkv}
	if mask.g != nil {
		sources = append(sources, mask)
	}
	return qkv.apply("linear attention", func() (*G.Node, error) {
		if s := qkv.node.Shape(); len(s) != 2 || s[0] != h.Batch*h.Context || s[1] != h.Width() {
			return nil, errors.Errorf("%v is not (%d, %d), the packed projections of %+v", s, h.Batch*h.Context, h.Width(), h.Heads)
		}
		children := G.Nodes{qkv.node}
		if len(sources) > 1 {
			children = append(children, mask.node)
			if n, one := mask.node.Shape().TotalSize(), h.Context*h.Context; n != one && n != h.Batch*one {
				return nil, errors.Errorf("a mask of %d entries is neither %d nor %d", n, one, h.Batch*one)
			}
		}
		return qkv.g.linearAttention(h, children)
	}, sources[1:]...), true
}

func (g *Graph) linearAttention(h LinearHeads, children G.Nodes) (*G.Node, error) {
	total, scratch := &buffer{size: h.Batch * h.Heads.Heads * h.Context}, &buffer{size: scanScratch(g.pool, h)}
	return g.node(&op{
		name:  fmt.Sprintf("linearattention(%v,%t,%s)", h.Heads, h.Causal, h.Features.name),
		shape: tensor.Shape{h.Batch * h.Context, h.Heads.Heads * h.V}, wrt: []bool{true, false}[:len(children)],
		fills: []*buffer{total, scratch},
		f32:   linearForward(g.pool, scanOf(h, h.Features.f32), total, scratch),
		f64:   linearForward(g.pool, scanOf(h, h.Features.f64), total, scratch),
		diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
			scratch := &buffer{size: scratch.size}
			dqkv, err := g.node(&op{
				name: "linearattention.dqkv", shape: in[0].Shape().Clone(), fills: []*buffer{scratch}, uses: []*buffer{total},
				f32: linearBackward(g.pool, scanOf(h, h.Features.f32), total, scratch),
				f64: linearBackward(g.pool, scanOf(h, h.Features.f64), total, scratch),
			}, append(in[:len(in):len(in)], out, grad)...)
			return G.Nodes{dqkv, nil}[:len(in)], err
		},
	}, children...)
}

func scanOf[T kernel.Float](h LinearHeads, phi kernel.Features[T]) kernel.LinearAttention[T] {
	return kernel.LinearAttention[T]{Batch: h.Batch, Tokens: h.Context, Heads: h.Heads.Heads, QK: h.QK, V: h.V, Phi: phi, Causal: h.Causal}
}

func scanScratch(p *kernel.Pool, h LinearHeads) int { return scanOf(h, h.Features.f64).ScratchLen(p) }

func linearForward[T kernel.Float](p *kernel.Pool, l kernel.LinearAttention[T], total, scratch *buffer) body[T] {
	return func(y []T, in [][]T) error {
		l.Forward(p, y, of[T](total), in[0], maskAmong(in), nil, of[T](scratch))
		return nil
	}
}

func linearBackward[T kernel.Float](p *kernel.Pool, l kernel.LinearAttention[T], total, scratch *buffer) body[T] {
	return func(dqkv []T, in [][]T) error {
		y, dy := in[len(in)-2], in[len(in)-1]
		l.Backward(p, dqkv, in[0], maskAmong(in[:len(in)-2]), y, dy, of[T](total), of[T](scratch))
		return nil
	}
}

func maskAmong[T kernel.Float](in [][]T) []T {
	if len(in) > 1 {
		return in[1]
	}
	return nil
}
