package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// CrossAttention lets every token of a decoder's stream x look at all tokens of an encoder's output z. Queries come from
// x, keys and values from z, by projections of their own, for every head h
//
//	q = x·w_q + b_q,  k = z·w_k + b_k,  v = z·w_v + b_v
//	out = concat over h of softmax(q_h·k_hᵀ/√dρ + mask)·v_h, times w_proj, plus b_proj
//
// The weights of a sequence are (n, m): n tokens of the target, m of the source. Xu says that K and V are the same thing;
// they have the same source and different projections (errata X12). Conti prints softmax(X·Zᵗ/√k)·Z without any
// projection (errata C14); CS 224n gives the source length m, then n (errata S9). Dropout acts on the weights and on the
// result, as in SelfAttention. The mask is the memory's. The site's is not asked, nor is its Rotary: between two
// sequences there is no distance.
type CrossAttention struct {
	Q, KV, Proj Layer
	memory      *Memory
	dims        Dims
	kept        graph.Expr
	drop        *Dropout // of the weights
	scope       graph.Scope
}

// NewCrossAttention declares c_q (d, H·dρ), c_kv (d, H(dρ+dh)), whose columns are [k | v], and c_proj (H·dh, d).
func NewCrossAttention(at Site, m *Memory) *CrossAttention {
	qk, v := at.Heads*at.QK, at.Heads*at.V
	if rows := at.Batch * at.Context; m.Batch < 1 || m.Queries < 1 || rows%m.Batch != 0 || rows/m.Batch%m.Queries != 0 {
		at.Failf("%d tokens of the decoder are not %d queries for each of %d sources", rows, m.Queries, m.Batch)
	}
	return &CrossAttention{
		Q:      at.Affine(at.Sub("c_q"), at.Embd, []int{qk}, at.Bias, graph.Normal(0.02)),
		KV:     at.Affine(at.Sub("c_kv"), at.Embd, []int{qk, v}, at.Bias, graph.Normal(0.02)),
		Proj:   newOutProjection(at),
		memory: m, dims: at.Dims, drop: NewDropout(at.At("attn_dropout")), scope: at.Scope,
	}
}

// Forward lets the tokens of x look at the memory.
func (l *CrossAttention) Forward(x graph.Expr) graph.Expr { // (B·n, d) → (B·n, d)
	return l.Proj.Forward(l.attend(l.Q.Forward(x), l.Projected()))
}

// Projected is the keys and values of the memory, which do not depend on x: a decoder computes them once for a sentence.
func (l *CrossAttention) Projected() graph.Expr { // (B·m, H(dρ+dh))
	return l.KV.Forward(l.memory.Z)
}

// Step is Forward with the keys and values that Kept holds.
func (l *CrossAttention) Step(x, _ graph.Expr) graph.Expr { // (B·n, d) → (B·n, d)
	return l.Proj.Forward(l.attend(l.Q.Forward(x), l.Kept()))
}

// Kept is a value (B·m, H(dρ+dh)) that whoever decodes fills with what Projected gave.
func (l *CrossAttention) Kept() graph.Expr {
	if l.kept.Graph() == nil {
		width := l.dims.Heads * (l.dims.QK + l.dims.V)
		l.kept = l.scope.Value("kv", graph.Const(0), l.memory.Batch*l.memory.Keys, width)
	}
	return l.kept
}

// attend is the heads themselves, from packed projections to packed results.
func (l *CrossAttention) attend(q, kv graph.Expr) graph.Expr { // (B·n, H·dρ), (B·m, H(dρ+dh)) → (B·n, H·dh)
	m, d := l.memory, l.dims
	q, kv = q.In(l.scope), kv.In(l.scope)
	heads := graph.CrossHeads{Batch: m.Batch, Queries: m.Queries, Keys: m.Keys, Heads: d.Heads, QK: d.QK, V: d.V}
	if y, ok := graph.CrossAttention(q, kv, m.mask, heads, l.drop.P); ok {
		return y
	}
	qh := l.split(q, m.Queries, 0, d.QK)                                // q            (B, H, n, dρ)
	k := l.split(kv, m.Keys, 0, d.QK)                                   // k            (B, H, m, dρ)
	v := l.split(kv, m.Keys, d.Heads*d.QK, d.V)                         // v            (B, H, m, dh)
	scaled := qh.MatMulT(k).Scale(1 / math.Sqrt(float64(d.QK)))         // q·kᵀ/√dρ     (B, H, n, m)
	hidden := m.mask.In(l.scope).Reshape(m.Batch, 1, m.Queries, m.Keys) // padding      (B, 1, n, m)
	p := l.drop.Forward(scaled.Add(hidden).Softmax()).In(l.scope)       // P = softmax  (B, H, n, m)
	out := p.MatMul(v)                                                  // P·v          (B, H, n, dh)
	return out.Transpose(0, 2, 1, 3).Reshape(m.Batch*m.Queries, d.Heads*d.V)
}

// Mixing is m·H(dρ+dh).
func (l *CrossAttention) Mixing() float64 {
	return overKeys(l.memory.Keys, l.dims.Heads, l.dims.QK, l.dims.V)
}

// split takes one block of columns apart into heads.
func (l *CrossAttention) split(x graph.Expr, tokens, from, size int) graph.Expr {
	h := l.dims.Heads
	return x.Cols(from, from+h*size).Reshape(l.memory.Batch, tokens, h, size).Transpose(0, 2, 1, 3)
}
