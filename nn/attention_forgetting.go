package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// ForgettingAttention is SelfAttention that forgets (Lin et al. 2025, arXiv:2503.02130, equations 4 to 6). Every head
// has a gate f_t = σ(x_t·w_f + b_f) of each token, and the weight of a key is multiplied by the gates of all tokens
// after it, up to the query:
//
//	out = concat over h of softmax(q_h·k_hᵀ/√dρ + D_h + mask)·v_h, times w_proj, plus b_proj
//	D_ij = Σ_{j<l≤i} ln f_l = c_i − c_j,  c_i = Σ_{l≤i} ln f_l
//
// Gates of 1 give SelfAttention, and gates of 0 let a token attend to itself alone. The layer knows the order of the
// tokens without positions, and also works with all of them. The mask must hide later keys. The kernel adds D tile by
// tile. ln f is computed as −ln(1 + e^(−z)), z = x·w_f + b_f, which does not overflow. It is an
// error if the site has a cap or sinks. Everything else is the same as in SelfAttention.
type ForgettingAttention struct {
	SelfAttention
	Gates Layer // w_f (d, H)
}

// NewForgettingAttention declares c_attn (d, H(2dρ+dh)), c_proj (H·dh, d) and c_forget (d, H).
func NewForgettingAttention(at Site) *ForgettingAttention {
	at.refuse("forgetting attention")
	sizes := at.heads(at.QK, at.V)
	l := &ForgettingAttention{SelfAttention: *newUncached(at, sizes, sizes, at.Bias)}
	l.Gates = at.affine("c_forget", at.Embd, []int{at.Heads}, at.Bias, graph.Normal(0.02))
	l.cache = cacheAt(at.Caches, at.Path(), func() *fused.KVCache { return fused.NewForgettingCache(l.heads.sizes) })
	return l
}

// Forward computes attention within every sequence.
func (l *ForgettingAttention) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	h, at, mask := l.heads.sizes, l.heads.scope, l.heads.causalMask()
	qkv, logF := l.QKV.Forward(x), l.logF(x)
	if y, ok := fused.ForgettingAttention(qkv, logF, mask, h, l.heads.drop.P); ok {
		return l.heads.project(x, qkv, y, noPosition())
	}
	q := at.Place("q", split(qkv, h, 0, h.QK))                       // q = a·w_q + b_q  (B, H, T, dρ)
	k := at.Place("k", split(qkv, h, h.Heads*h.QK, h.QK))            // k = a·w_k + b_k  (B, H, T, dρ)
	v := at.Place("v", split(qkv, h, 2*h.Heads*h.QK, h.V))           // v = a·w_v + b_v  (B, H, T, dh)
	scaled := q.MatMulT(k).Scale(1 / math.Sqrt(float64(h.QK)))       // q·kᵀ/√dρ         (B, H, T, T)
	scores := at.Place("scores", scaled.Add(l.decay(logF)))          // q·kᵀ/√dρ + D     (B, H, T, T)
	weights := scores.Add(l.heads.mask.overHeads(at)).Softmax()      // softmax          (B, H, T, T)
	out := l.heads.drop.Forward(at.Place("weights", weights)).In(at) // ρ
	y := concat(out.MatMul(v), h.Batch*h.Context, h.Heads*h.V)       // concat of ρ·v    (B·T, H·dh)
	return l.heads.project(x, qkv, y, noPosition())
}

// logF returns ln f = −ln(1 + e^(−z)) of every head, and names it.
func (l *ForgettingAttention) logF(x graph.Expr) graph.Expr { // (n, d) → (n, H)
	z := l.Gates.Forward(x).In(l.heads.scope)
	return l.heads.scope.Place("log_forget", times(Softplus{}.Forward(times(z, -1)), -1))
}

// decay returns D, as the products of [c, 1] and [1, −c].
func (l *ForgettingAttention) decay(logF graph.Expr) graph.Expr { // (B·T, H) → (B, H, T, T)
	h := l.heads.sizes
	rows := h.Batch * h.Heads * h.Context
	c := logF.CumSum(h.Context).Reshape(h.Batch, h.Context, h.Heads, 1).Transpose(0, 2, 1, 3).Reshape(rows, 1)
	one := c.Detach().Scale(0).Shift(1)
	factor := func(a, b graph.Expr) graph.Expr { return a.Join(b).Reshape(h.Batch, h.Heads, h.Context, 2) }
	return factor(c, one).MatMulT(factor(one, c.Scale(-1)))
}

// Step attends from the newest tokens of every sequence to all tokens so far, as the Step of SelfAttention does.
func (l *ForgettingAttention) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	mask := l.heads.causalMask()
	qkv, logF := step(l.QKV, x, at), l.logF(x)
	return l.heads.project(x, qkv, fused.CachedForgettingAttention(qkv, logF, mask, at, l.cache), at)
}

// Mixing returns the Mixing of SelfAttention, or 0 for nil.
func (l *ForgettingAttention) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.SelfAttention.Mixing()
}
