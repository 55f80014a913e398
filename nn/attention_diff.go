package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// DiffAttention is differential attention (Ye et al. 2024, arXiv:2410.05258, equations 1 to 3). Two consecutive heads
// form a pair with a common value of 2dh features, and the second of their maps is subtracted from the first, which
// removes what both attend to:
//
//	out = concat over pairs of (1 − λ₀)·norm((ρ₁ − λ·ρ₂)·v), times w_proj, plus b_proj
//	ρ_i = softmax(q_i·k_iᵀ/√dρ + mask),  λ = e^(λ_q1·λ_k1) − e^(λ_q2·λ_k2) + λ₀,  λ₀ = 0.8 − 0.6·e^(−0.3·l)
//
// l counts the blocks from 0. The norm is RMSNorm over the 2dh features of a pair, with gains that all pairs share. The
// projections have the sizes of SelfAttention's. Both maps run in the kernel of SelfAttention, as H heads whose values
// are copied. Caps and sinks apply to each map, and dropout to its weights.
type DiffAttention struct {
	SelfAttention
	Lambda  [4]graph.Expr // λ_q1, λ_k1, λ_q2, λ_k2  (dρ)
	Norm    Layer         // of a pair's 2dh features
	initial float64       // λ₀
	copies  []int         // the columns of the projections for each head, with its pair's value
	apart   []int         // for Step, with a pair's keys side by side
}

// NewDiffAttention declares c_attn (d, H(2dρ+dh)), c_proj (H·dh, d), lambda_q1, lambda_k1, lambda_q2 and lambda_k2
// (dρ), which start at N(0, 0.1²), and norm (2dh). It is an error if the number of heads is odd.
func NewDiffAttention(at Site) *DiffAttention {
	sizes := at.heads(at.QK, at.V)
	l := &DiffAttention{
		SelfAttention: *newUncached(at, sizes, inPairs(sizes), at.Bias),
		initial:       0.8 - float64(0.6*elementary.Exp(-0.3*float64(at.Block))),
	}
	for i, name := range []string{"lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"} {
		l.Lambda[i] = at.Param(name, graph.Normal(0.1), at.QK)
	}
	wide := at.At("norm")
	wide.Embd = 2 * at.V
	l.Norm = NewRMSNorm(wide)
	if at.Heads%2 != 0 {
		at.Failf("%d heads, want an even number: two of them share a value", at.Heads)
	}
	if !at.enumerable(2*at.QK) || !at.enumerable(2*at.V) {
		return l
	}
	l.copies, l.apart = pairColumns(sizes)
	l.heads.sizes.V = 2 * at.V
	pairs := fused.AttentionShape{
		Batch: sizes.Batch, Context: sizes.Context, Heads: sizes.Heads, Groups: sizes.Heads / 2, Cap: sizes.Cap,
		QK: 2 * sizes.QK, V: 2 * sizes.V,
	}
	l.cache = l.heads.cacheAt(at, pairs)
	return l
}

// inPairs returns the sizes of pairs of heads.
func inPairs(heads fused.AttentionShape) fused.AttentionShape {
	pairs := max(1, heads.Heads/2) // an odd number of heads is an error
	heads.Heads, heads.Groups, heads.QK, heads.V = pairs, pairs, 2*heads.QK, 2*heads.V
	return heads
}

// pairColumns returns the columns of packed projections, −1 for zeros, in two orders: with a copy of a pair's value for
// both heads; and with zeros in place of the other head's query, for keys of both heads side by side.
func pairColumns(h fused.AttentionShape) (copies, apart []int) {
	keys, values := h.Heads*h.QK, 2*h.Heads*h.QK // where they begin
	for i := range values {
		copies = append(copies, i)
	}
	for head := range h.Heads {
		first := head - head%2 // of the pair
		for i := range 2 * h.V {
			copies = append(copies, values+first*h.V+i)
		}
		for i := range 2 * h.QK {
			column := first*h.QK + i
			if i/h.QK != head%2 {
				column = -1
			}
			apart = append(apart, column)
		}
	}
	for i := range h.Heads * (h.QK + h.V) {
		apart = append(apart, keys+i)
	}
	return copies, apart
}

// Forward computes attention within every sequence.
func (l *DiffAttention) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	qkv := l.QKV.Forward(x)
	return l.project(x, qkv, l.heads.results(gathered(qkv, l.copies)), noPosition())
}

// project returns the projection of the difference of the heads' results y after their links, to which a pair is a
// head.
func (l *DiffAttention) project(x, qkv, y, at graph.Expr) graph.Expr {
	pairs := l.heads
	pairs.sizes.Heads, pairs.sizes.Groups, pairs.sizes.QK = pairs.sizes.Heads/2, pairs.sizes.Heads/2, 2*pairs.sizes.QK
	return pairs.project(x, qkv, l.difference(y), at)
}

// difference returns (1 − λ₀)·norm(y₁ − λ·y₂) of the results y of every pair.
func (l *DiffAttention) difference(y graph.Expr) graph.Expr { // (n, H·2dh) → (n, H·dh)
	h, s := l.heads.sizes, y.Shape()
	if len(s) != 2 { // building has failed
		return y
	}
	power := func(i int) graph.Expr { return l.Lambda[i].Mul(l.Lambda[i+1]).Sum().Exp() } // e^(λ_q·λ_k)  (1, 1)
	lambda := power(0).Sub(power(2)).Shift(l.initial)                                     // λ            (1, 1)
	pairs := y.Reshape(s[0]*h.Heads/2, 2*h.V)                                             // [y₁ | y₂]
	less := mix(pairs.Columns(0, h.V), pairs.Columns(h.V, 2*h.V), lambda.Scale(-1))       // y₁ − λ·y₂
	return times(l.Norm.Forward(less).In(l.heads.scope), 1-l.initial).Reshape(s[0], h.Heads/2*h.V)
}

// Step attends from the newest tokens of every sequence to all tokens so far, as the Step of SelfAttention does. The
// cache stores the value of a pair once: [q₁, 0] and [0, q₂] are the queries of its keys [k₁, k₂]. They are scaled by
// √2, because these have 2dρ features.
func (l *DiffAttention) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	qkv := step(l.QKV, x, at)
	packed := qkv
	if s, keys := qkv.Shape(), l.heads.sizes.Heads*l.heads.sizes.QK; len(s) == 2 {
		qkv = qkv.Columns(0, keys).Scale(math.Sqrt2).Join(qkv.Columns(keys, s[1]))
	}
	return l.project(x, packed, l.stepped(gathered(qkv, l.apart), at), at)
}

// Mixing returns n·H(dρ+2dh) for the mean number n of keys, as SelfAttention does, or 0 for nil.
func (l *DiffAttention) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.SelfAttention.Mixing()
}
