package nn

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// Longformer is attention in dilated windows with some global tokens. Attention to and from the global tokens uses
// separate projections (Beltagy et al. 2020, section 3.1; Conti 2.1.1). The pairs of a query and a key are restricted
// by the mask of the LongformerMask, and by the windows and the global tokens G of a Dilated. Head h has the score
//
//	s_ij = q^g_i·k^g_jᵀ/√dρ   where i ∈ G or j ∈ G
//	s_ij = q_i·k_jᵀ/√dρ       where else they are in the window
//	s_ij = −∞                 elsewhere
//
// capped as in SelfAttention, plus the mask's bias, if any; P = softmax of a row, over both kinds together; and
//
//	out_i = Σ_j P_ij·(v^g_j where i ∈ G or j ∈ G, else v_j)
//
// The heads are concatenated, multiplied by w_proj, and b_proj is added. In a causal model a global token attends to
// those before it, and those after it attend to it. Dropout acts on the weights and on the result.
type Longformer struct {
	QKV, Global, Proj Layer // QKV and Global are as SelfAttention.QKV
	heads             fused.AttentionShape
	mask              *LongformerMask
	weightDrop        *Dropout
	cache             *fused.PairCache
	scope             graph.Scope
}

// NewLongformer declares c_attn and c_attn_global, (d, H(2dρ+dh)) each, and c_proj (H·dh, d). Layers share the mask;
// the site's mask is ignored.
func NewLongformer(at Site, mask *LongformerMask) *Longformer {
	sizes := at.heads(at.QK, at.V)
	sizes.Cap = at.limit()
	at.refuse("longformer")
	return &Longformer{
		QKV:    newInProjection(at, "c_attn", sizes, at.Bias),
		Global: newInProjection(at, "c_attn_global", sizes, at.Bias),
		Proj:   newOutProjection(at), heads: sizes, mask: mask, weightDrop: NewDropout(at.At("attn_dropout")),
		scope: at.Scope,
		cache: cacheAt(at.Caches, at.Path(), func() *fused.PairCache { return fused.NewPairCache(sizes) }),
	}
}

// Forward computes attention within every sequence.
func (l *Longformer) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	return l.Proj.Forward(l.attend(l.QKV.Forward(x), l.Global.Forward(x)))
}

// Step attends from the newest tokens of every sequence to the two keys of each of all tokens so far, which it has
// stored with their values: twice the numbers of SelfAttention. It equals rows at, at + 1, … of Forward as long as no
// token before them changes. It is an error if the mask lets a query attend to a later key, or differs between
// sequences.
func (l *Longformer) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	l.mask.requireCausal(l.scope)
	both := step(l.QKV, x, at).Join(step(l.Global, x, at)).In(l.scope)
	heads := fused.CachedPairAttention(both, l.mask.Expr(), at, l.cache)
	return l.Proj.Forward(l.scope.Place("heads", heads))
}

// attend computes the heads' results. Every token has two adjacent keys: the local one, for the windows, and the global
// one. The mask hides one of them or both.
func (l *Longformer) attend(near, global graph.Expr) graph.Expr { // 2·(B·T, H(2dρ+dh)) → (B·T, H·dh)
	if y, ok := l.kernel(near, global); ok {
		return l.scope.Place("heads", y)
	}
	h, at := l.heads, l.scope
	pairs := h.Batch * h.Heads * h.Context * h.Context
	q, k, v := l.split(near, "")                                                  // q, k, v  (B, H, T, dρ or dh)
	qg, kg, vg := l.split(global, "_global")                                      // q^g, k^g, v^g
	both := q.MatMulT(k).Reshape(pairs, 1).Join(qg.MatMulT(kg).Reshape(pairs, 1)) // [q·kᵀ, q^g·k^gᵀ]
	raw := both.Reshape(h.Batch, h.Heads, h.Context, 2*h.Context)                 //          (B, H, T, 2T)
	scaled := at.Place("scores", softcap(raw.Scale(l.inverse()), h.Cap))          // s        (B, H, T, 2T)
	p := at.Place("weights", scaled.Add(l.mask.expr.In(at)).Softmax())            // P        (B, H, T, 2T)
	p = l.weightDrop.Forward(p).In(at)
	half := func(i int) graph.Expr {
		return p.Reshape(pairs, 2).Columns(i, i+1).Reshape(h.Batch, h.Heads, h.Context, h.Context)
	}
	out := half(0).MatMul(v).Add(half(1).MatMul(vg))                      // P·v + P^g·v^g       (B, H, T, dh)
	return at.Place("heads", concat(out, h.Batch*h.Context, h.Heads*h.V)) // concat              (B·T, H·dh)
}

func (l *Longformer) inverse() float64 { return 1 / math.Sqrt(float64(l.heads.QK)) }

func (l *Longformer) split(qkv graph.Expr, kind string) (q, k, v graph.Expr) {
	h, at := l.heads, l.scope
	q = at.Place("q"+kind, split(qkv, h, 0, h.QK))
	k = at.Place("k"+kind, split(qkv, h, h.Heads*h.QK, h.QK))
	v = at.Place("v"+kind, split(qkv, h, 2*h.Heads*h.QK, h.V))
	return q, k, v
}

// Mixing returns 2n·H(dρ+dh) for the mean number n of visible keys, or T without kernels: a key has twice the features,
// because every token has two keys, of which one is 0.
func (l *Longformer) Mixing() float64 {
	if l == nil {
		return 0
	}
	return 2 * float64(overKeys(l.mask.meanKeys(), l.heads.Heads, l.heads.QK, l.heads.V))
}

// kernel computes cross-attention of T queries [q, q^g] to 2T keys, [k, 0] and [0, k^g] alternately, so that each
// product is one of its parts: q·kᵀ or q^g·k^gᵀ. The scale is for 2dρ features, hence √2.
func (l *Longformer) kernel(near, global graph.Expr) (y graph.Expr, ok bool) {
	h, both := l.heads, near.Join(global)
	if both.Shape() == nil { // building has failed, and the sizes are not checked
		return y, false
	}
	q, ok := fused.GatherCols(both, l.queries())
	if !ok {
		return y, false
	}
	q, _ = fused.Scale(q, math.Sqrt2)
	kv, _ := fused.GatherCols(both, l.keys())
	width := h.Heads * (2*h.QK + h.V)
	return fused.CrossAttention(q.In(l.scope), kv.Reshape(2*h.Batch*h.Context, width), l.mask.expr, fused.CrossShape{
		Batch: h.Batch, Queries: h.Context, Keys: 2 * h.Context, Heads: h.Heads, QK: 2 * h.QK, V: h.V, Cap: h.Cap,
	}, l.weightDrop.P)
}

// queries returns the columns of [q, q^g], head by head, in two packed projections side by side.
func (l *Longformer) queries() (order []int) {
	h := l.heads
	for j := range h.Heads {
		order = append(order, span(j*h.QK, h.QK)...)
		order = append(order, span(h.Width()+j*h.QK, h.QK)...)
	}
	return order
}

// keys returns the columns of [k, 0] head by head followed by v, and of [0, k^g] followed by v^g.
func (l *Longformer) keys() (order []int) {
	h := l.heads
	nothing := slices.Repeat([]int{-1}, h.QK)
	for side := range 2 {
		from := side * h.Width()
		for j := range h.Heads {
			k := span(from+(h.Heads+j)*h.QK, h.QK)
			if side == 0 {
				order = slices.Concat(order, k, nothing)
			} else {
				order = slices.Concat(order, nothing, k)
			}
		}
		order = append(order, span(from+2*h.Heads*h.QK, h.Heads*h.V)...)
	}
	return order
}

// span returns the n columns from, from+1, ….
func span(from, n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = from + i
	}
	return s
}
