package ops

import (
	"fmt"
	"slices"

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
	var last *lastRow
	if len(operands) > 1 {
		last = &lastRow{rule: b.Rule(operands[1]), tokens: h.Queries}
	}
	return b.node(&Op{
		name:  fmt.Sprintf("linearattention(%v,%t,%s)", h, l.Causal, l.Map.name),
		shape: tensor.Shape{h.Batch * h.Queries, h.Heads * h.V}, wrt: []bool{true, false}[:len(operands)],
		fills: []*buffer{total, scratch},
		f32:   linearAttention(p, linearKernel(l, l.Map.f32), last, total, scratch),
		f64:   linearAttention(p, linearKernel(l, l.Map.f64), last, total, scratch),
		diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
			scratch := &buffer{size: scratch.size}
			return one(b.node(&Op{
				name: "linearattention.dqkv", shape: in[0].Shape(), fills: []*buffer{scratch}, uses: []*buffer{total},
				f32: linearAttentionBackward(b.Pool, linearKernel(l, l.Map.f32), last, total, scratch),
				f64: linearAttentionBackward(b.Pool, linearKernel(l, l.Map.f64), last, total, scratch),
			}, append(in[:len(in):len(in)], out, grad)...))
		},
	}, operands...)
}

func linearAttention[T kernel.Float](
	p *kernel.Pool, l attention.Linear[T], last *lastRow, total, scratch *buffer,
) body[T] {
	var row []T
	return func(y []T, in [][]T) {
		if last != nil {
			row = lastRowOf(last, in[1], row)
		}
		l.Forward(p, y, of[T](total), in[0], row, nil, of[T](scratch))
	}
}

func linearAttentionBackward[T kernel.Float](
	p *kernel.Pool, l attention.Linear[T], last *lastRow, total, scratch *buffer,
) body[T] {
	var row []T
	return func(dqkv []T, in [][]T) {
		if last != nil {
			row = lastRowOf(last, in[1], row)
		}
		y, dy := in[len(in)-2], in[len(in)-1]
		l.Backward(p, dqkv, in[0], row, y, dy, of[T](total), of[T](scratch))
	}
}

// lastRow is the row of the last query of every matrix of a mask, (1 or B, tokens).
type lastRow struct {
	rule   *Rule // nil if the mask is stored
	tokens int
}

// lastRowOf returns the rows in the memory of before, of a mask in data or of a rule.
func lastRowOf[T kernel.Float](r *lastRow, data, before []T) []T {
	n := r.tokens
	if data = tableOf(data, r.rule); data != nil {
		before = slices.Grow(before[:0], len(data)/n)
		for end := n * n; end <= len(data); end += n * n {
			before = append(before, data[end-n:end]...)
		}
		return before
	}
	rows := r.rule.Rows()
	if len(before) != rows {
		before = make([]T, rows)
	}
	for i := n - 1; i < rows; i += n {
		rowsOf[T](r.rule).Row(i, 0, before[i+1-n:][:n])
	}
	return before
}
