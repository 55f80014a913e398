package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// Attention makes the attention layer of a block.
type Attention func(at Site) Layer

// SelfAttention is multi-headed self-attention (4)–(18), (34) with the output projection of Table 2. Every head
// h has queries, keys and values of its own, packed in the columns [q | k | v] of one projection, each [head 1 | … | H]:
//
//	out = concat over h of softmax(q_h·k_hᵀ/√dρ + mask)·v_h, times w_proj, plus b_proj
//
// It is the encoder's attention, too: the site's mask decides who sees whom, and Causal makes it the decoder's. The mask
// is added, not multiplied (errata B1), so the weight of a hidden key is exactly 0. A key's bias cancels in the
// softmax: its gradient is identically 0 (29). Dropout acts on the weights and on the result. dρ and dh may differ.
type SelfAttention struct {
	QKV, Proj             Layer
	heads                 graph.Heads
	mask                  *Mask
	cache                 *graph.KVCache
	rotary                Rotary
	weightDrop, residDrop *Dropout
	scope                 graph.Scope
}

// NewSelfAttention declares c_attn (d, H(2dρ+dh)) and c_proj (H·dh, d).
func NewSelfAttention(at Site) *SelfAttention {
	qk, v := at.Heads*at.QK, at.Heads*at.V
	heads := graph.Heads{Batch: at.Batch, Context: at.Context, Heads: at.Heads, QK: at.QK, V: at.V}
	return &SelfAttention{
		QKV:        at.Affine(at.Sub("c_attn"), at.Embd, []int{qk, qk, v}, at.Bias, graph.Normal(0.02)),
		Proj:       at.Affine(at.Sub("c_proj"), v, []int{at.Embd}, at.Bias, residual(at)),
		heads:      heads,
		mask:       at.mask(),
		cache:      cacheAt(at.Caches, at.Path(), func() *graph.KVCache { return graph.NewKVCache(heads) }),
		rotary:     at.Rotary,
		weightDrop: NewDropout(at.At("attn_dropout")),
		residDrop:  NewDropout(at.At("resid_dropout")),
		scope:      at.Scope,
	}
}

// Forward lets the tokens of every sequence meet.
func (l *SelfAttention) Forward(x graph.Expr) graph.Expr { // (B·T, d) → (B·T, d)
	return l.project(l.attend(l.packed(x)))
}

// packed is queries, keys and values of all heads side by side, the first two turned where positions are rotary.
func (l *SelfAttention) packed(x graph.Expr) graph.Expr { // (n, d) → (n, H(2dρ+dh))
	qkv := l.QKV.Forward(x).In(l.scope)
	if l.rotary == nil {
		return qkv
	}
	return l.rotary.Rotate(qkv, 2*l.heads.Heads, l.heads.QK).In(l.scope)
}

func (l *SelfAttention) project(heads graph.Expr) graph.Expr {
	return l.residDrop.Forward(l.Proj.Forward(heads))
}

// attend is the heads themselves, from packed projections to packed results.
func (l *SelfAttention) attend(qkv graph.Expr) graph.Expr { // (B·T, H(2dρ+dh)) → (B·T, H·dh)
	if y, ok := graph.Attention(qkv, l.mask.Expr(), l.heads, l.weightDrop.P); ok {
		return y
	}
	h := l.heads
	q := l.split(qkv, 0, h.QK)                                               // q = a·w_q + b_q  (B, H, T, dρ)  (9.a)
	k := l.split(qkv, h.Heads*h.QK, h.QK)                                    // k = a·w_k + b_k  (B, H, T, dρ)  (9.b)
	v := l.split(qkv, 2*h.Heads*h.QK, h.V)                                   // v = a·w_v + b_v  (B, H, T, dh)  (4)
	raw := q.MatMulT(k)                                                      // ρ_raw = q·kᵀ     (B, H, T, T)   (10)
	scaled := raw.Scale(1 / math.Sqrt(float64(h.QK)))                        // ρ_raw/√dρ                       (12)
	causal := scaled.Add(l.mask.overHeads(l.scope))                          // + mask                          (13), errata B1
	rho := l.weightDrop.Forward(causal.Softmax()).In(l.scope)                // ρ = softmax      (B, H, T, T)   (15)
	out := rho.MatMul(v)                                                     // ρ·v              (B, H, T, dh)  (16)
	return out.Transpose(0, 2, 1, 3).Reshape(h.Batch*h.Context, h.Heads*h.V) // concat           (B·T, H·dh)    (34)
}

// Mixing is T·H(dρ+dh).
func (l *SelfAttention) Mixing() float64 {
	return overKeys(l.heads.Context, l.heads.Heads, l.heads.QK, l.heads.V)
}

// split takes one block of columns apart into heads.
func (l *SelfAttention) split(qkv graph.Expr, from, size int) graph.Expr {
	h := l.heads
	return qkv.Cols(from, from+h.Heads*size).Reshape(h.Batch, h.Context, h.Heads, size).Transpose(0, 2, 1, 3)
}

// Step attends from the newest tokens of every sequence to all tokens so far, whose keys and values it has kept (the KV
// cache of section 3.2; the paper's formula lacks 1/√dρ, errata B7). It equals rows at, at + 1, … of Forward as long as no
// token before them changes; learned positions do change when a window slides (errata X9). It is an error if the mask lets
// a query see a later key.
func (l *SelfAttention) Step(x, at graph.Expr) graph.Expr { // (B·n, d) → (B·n, d)
	l.mask.onlyPast(l.scope)
	return l.project(graph.CachedAttention(l.packed(x), l.mask.Expr(), at, l.cache))
}
