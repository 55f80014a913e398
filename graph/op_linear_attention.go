package graph

import (
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// FeatureMap is a feature map φ of queries and keys: in linear attention the weight of a key for a query is φ(q)·φ(k).
type FeatureMap struct {
	name string
	f32  attention.FeatureMap[float32]
	f64  attention.FeatureMap[float64]
}

// EluPlusOne returns φ(x) = elu(x) + 1, entry by entry: x + 1 for x > 0, else eˣ.
func EluPlusOne() FeatureMap {
	return FeatureMap{"elu+1", attention.EluPlusOne[float32]{}, attention.EluPlusOne[float64]{}}
}

// Taylor returns φ(x) = [1, x/√(‖x‖² + eps)], so that the weights are 1 + q̂·k̂. If eps is below 0, it returns an empty
// map, which layers refuse.
func Taylor(eps float64) FeatureMap {
	if !(eps >= 0 && eps <= math.MaxFloat64) {
		return FeatureMap{}
	}
	name := fmt.Sprintf("taylor,%g", eps)
	return FeatureMap{name, attention.Taylor[float32]{Eps: eps}, attention.Taylor[float64]{Eps: eps}}
}

// LinearShape describes linear attention on packed projections. If Causal is set, a query attends only to the keys up
// to its own position. Map is the φ of the weights. Every head has its own keys and values.
type LinearShape struct {
	AttentionShape
	Causal bool
	Map    FeatureMap
}

func (h LinearShape) checkGroups() error {
	if groups := h.kernel().Groups; groups != h.Heads {
		return errors.Errorf("%d groups, want %d: in linear attention no head shares its keys and values",
			groups, h.Heads)
	}
	return nil
}

// LinearAttention returns the kernel of concat over heads of Σ_j φ(q_i)·φ(k_j)·v_j / Σ_j φ(q_i)·φ(k_j): (B·T,
// H(2·QK+V)) → (B·T, H·V). The mask is (T, T) for all sequences, or (B, T, T). A key that it hides from the last query
// counts for no query; an empty mask hides none. The sums over the keys so far are carried from one chunk of tokens to
// the next, so time and memory are linear in T.
func LinearAttention(qkv, mask Expr, h LinearShape) (y Expr, ok bool) {
	masks := present(mask)
	return qkv.kernel("linear attention", func() (*G.Node, error) {
		if err := h.checkGroups(); err != nil {
			return nil, err
		}
		if err := h.check(qkv.node, h.Batch*h.Context); err != nil {
			return nil, err
		}
		if mask.node != nil {
			if n, one := mask.node.Shape().TotalSize(), h.Context*h.Context; n != one && n != h.Batch*one {
				return nil, errors.Errorf("got a mask of %d entries, want %d or %d", n, one, h.Batch*one)
			}
		}
		return qkv.g.linearAttention(h, append(G.Nodes{qkv.node}, nodes(masks...)...))
	}, masks...)
}

func (g *Graph) linearAttention(h LinearShape, children G.Nodes) (*G.Node, error) {
	total, scratch := &buffer{size: h.Batch * h.Heads * h.Context}, &buffer{size: h.scratch(g.pool)}
	return g.node(&op{
		name:  fmt.Sprintf("linearattention(%v,%t,%s)", h.AttentionShape, h.Causal, h.Map.name),
		shape: tensor.Shape{h.Batch * h.Context, h.Heads * h.V}, wrt: []bool{true, false}[:len(children)],
		fills: []*buffer{total, scratch},
		f32:   linearAttention(g.pool, linearKernel(h, h.Map.f32), total, scratch),
		f64:   linearAttention(g.pool, linearKernel(h, h.Map.f64), total, scratch),
		diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
			scratch := &buffer{size: scratch.size}
			return one(g.node(&op{
				name: "linearattention.dqkv", shape: in[0].Shape(), fills: []*buffer{scratch}, uses: []*buffer{total},
				f32: linearAttentionBackward(g.pool, linearKernel(h, h.Map.f32), total, scratch),
				f64: linearAttentionBackward(g.pool, linearKernel(h, h.Map.f64), total, scratch),
			}, append(in[:len(in):len(in)], out, grad)...))
		},
	}, children...)
}

func linearKernel[T kernel.Float](h LinearShape, phi attention.FeatureMap[T]) attention.Linear[T] {
	return attention.Linear[T]{
		Batch: h.Batch, Tokens: h.Context, Heads: h.Heads, QK: h.QK, V: h.V, Phi: phi, Causal: h.Causal,
	}
}

func (h LinearShape) scratch(p *kernel.Pool) int { return linearKernel(h, h.Map.f64).ScratchLen(p) }

func linearAttention[T kernel.Float](p *kernel.Pool, l attention.Linear[T], total, scratch *buffer) body[T] {
	return func(y []T, in [][]T) {
		l.Forward(p, y, of[T](total), in[0], maskAmong(in), nil, of[T](scratch))
	}
}

func linearAttentionBackward[T kernel.Float](p *kernel.Pool, l attention.Linear[T], total, scratch *buffer) body[T] {
	return func(dqkv []T, in [][]T) {
		y, dy := in[len(in)-2], in[len(in)-1]
		l.Backward(p, dqkv, in[0], maskAmong(in[:len(in)-2]), y, dy, of[T](total), of[T](scratch))
	}
}

// maskAmong returns the second input, nil if there is none.
func maskAmong[T kernel.Float](in [][]T) []T {
	if len(in) > 1 {
		return in[1]
	}
	return nil
}
