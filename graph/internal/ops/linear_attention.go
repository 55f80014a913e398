package ops

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// FeatureMap is a feature map φ of queries and keys. The zero FeatureMap has no map.
type FeatureMap struct {
	name string
	f32  attention.FeatureMap[float32]
	f64  attention.FeatureMap[float64]
}

// EluPlusOne returns φ(x) = elu(x) + 1, entry by entry.
func EluPlusOne() FeatureMap {
	return FeatureMap{"elu+1", attention.EluPlusOne[float32]{}, attention.EluPlusOne[float64]{}}
}

// Taylor returns φ(x) = [1, x/√(‖x‖² + eps)].
func Taylor(eps float64) FeatureMap {
	name := fmt.Sprintf("taylor,%g", eps)
	return FeatureMap{name, attention.Taylor[float32]{Eps: eps}, attention.Taylor[float64]{Eps: eps}}
}

// Size returns the number of features of a query with d features, 0 for the zero FeatureMap.
func (m FeatureMap) Size(d int) int {
	if m.f64 == nil {
		return 0
	}
	return m.f64.Size(d)
}

// Linear is linear attention on packed projections.
type Linear struct {
	Shape  attention.Shape // as many queries as keys
	Causal bool
	Map    FeatureMap
}

// linearKernel returns the kernel of l with the feature map phi.
func linearKernel[T kernel.Float](l Linear, phi attention.FeatureMap[T]) attention.Linear[T] {
	h := l.Shape
	return attention.Linear[T]{
		Batch: h.Batch, Tokens: h.Queries, Heads: h.Heads, QK: h.QK, V: h.V, Phi: phi, Causal: l.Causal,
	}
}

// buffers returns the buffer of the sums of weights, and the scratch.
func (l Linear) buffers(p *kernel.Pool) (total, scratch *buffer) {
	h := l.Shape
	size := linearKernel(l, l.Map.f64).ScratchLen(p)
	return &buffer{size: h.Batch * h.Heads * h.Queries}, &buffer{size: size}
}

// LinearAttention returns linear attention: the operands are the packed projections and, optionally, a mask.
func (b *Builder) LinearAttention(l Linear, operands G.Nodes) (*G.Node, error) {
	h, p := l.Shape, b.Pool
	total, scratch := l.buffers(p)
	return b.node(&Op{
		name:  fmt.Sprintf("linearattention(%v,%t,%s)", h, l.Causal, l.Map.name),
		shape: tensor.Shape{h.Batch * h.Queries, h.Heads * h.V}, wrt: []bool{true, false}[:len(operands)],
		fills: []*buffer{total, scratch},
		f32:   linearAttention(p, linearKernel(l, l.Map.f32), total, scratch),
		f64:   linearAttention(p, linearKernel(l, l.Map.f64), total, scratch),
		diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
			scratch := &buffer{size: scratch.size}
			return one(b.node(&Op{
				name: "linearattention.dqkv", shape: in[0].Shape(), fills: []*buffer{scratch}, uses: []*buffer{total},
				f32: linearAttentionBackward(b.Pool, linearKernel(l, l.Map.f32), total, scratch),
				f64: linearAttentionBackward(b.Pool, linearKernel(l, l.Map.f64), total, scratch),
			}, append(in[:len(in):len(in)], out, grad)...))
		},
	}, operands...)
}

func linearAttention[T kernel.Float](p *kernel.Pool, l attention.Linear[T], total, scratch *buffer) body[T] {
	return func(y []T, in [][]T) {
		var mask []T
		if len(in) > 1 {
			mask = in[1]
		}
		l.Forward(p, y, of[T](total), in[0], mask, nil, of[T](scratch))
	}
}

func linearAttentionBackward[T kernel.Float](p *kernel.Pool, l attention.Linear[T], total, scratch *buffer) body[T] {
	return func(dqkv []T, in [][]T) {
		var mask []T
		if len(in) > 3 {
			mask = in[1]
		}
		y, dy := in[len(in)-2], in[len(in)-1]
		l.Backward(p, dqkv, in[0], mask, y, dy, of[T](total), of[T](scratch))
	}
}
