package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// SigmoidAttention is SelfAttention whose weights are sigmoids of the scores, each by itself, in place of a softmax
// over the keys (Ramapuram et al. 2024):
//
//	out = concat over h of σ(q_h·k_hᵀ/√dρ + mask − ln n)·v_h, times w_proj, plus b_proj
//
// n is the number of keys that the query attends to, so that the weights are 1/(n+1) where all scores are 0, nearly as
// in a softmax. The publication takes the length of the sequence for n, which is the same without a mask. The weights
// of a query need not sum to 1, and the keys' bias does not cancel. The kernel goes tile by tile, as the kernel of
// SelfAttention does. It is an error if the site has a cap or sinks. Everything else is the same as in SelfAttention.
type SigmoidAttention struct{ SelfAttention }

// NewSigmoidAttention declares c_attn (d, H(2dρ+dh)) and c_proj (H·dh, d).
func NewSigmoidAttention(at Site) *SigmoidAttention {
	at.refuse("sigmoid attention")
	return &SigmoidAttention{*NewSelfAttention(at)}
}

// Forward computes attention within every sequence.
func (l *SigmoidAttention) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	h, at, qkv := l.heads.sizes, l.heads.scope, l.QKV.Forward(x)
	if y, ok := fused.SigmoidAttention(qkv, l.heads.mask.Expr(), h, l.heads.drop.P); ok {
		return l.heads.project(x, qkv, y, noPosition())
	}
	q := at.Place("q", split(qkv, h, 0, h.QK))                          // q = a·w_q + b_q  (B, H, T, dρ)
	k := at.Place("k", split(qkv, h, h.Heads*h.QK, h.QK))               // k = a·w_k + b_k  (B, H, T, dρ)
	v := at.Place("v", split(qkv, h, 2*h.Heads*h.QK, h.V))              // v = a·w_v + b_v  (B, H, T, dh)
	raw := q.MatMulT(k)                                                 // q·kᵀ             (B, H, T, T)
	scaled := at.Place("scores", raw.Scale(1/math.Sqrt(float64(h.QK)))) // q·kᵀ/√dρ
	rho := at.Place("weights", Sigmoid{}.Forward(scaled.Add(l.mask()))) // ρ = σ(…)         (B, H, T, T)
	out := l.heads.drop.Forward(rho).In(at).MatMul(v)                   // ρ·v              (B, H, T, dh)
	y := concat(out, h.Batch*h.Context, h.Heads*h.V)                    // concat           (B·T, H·dh)
	return l.heads.project(x, qkv, y, noPosition())
}

// mask returns mask − ln n.
func (l *SigmoidAttention) mask() graph.Expr { // (T, T), or as the mask
	mask := l.heads.mask.overHeads(l.heads.scope)
	visible := mask.Scale(1e-37).Exp()   // 1 for a visible key, 0 where the mask is −∞
	return mask.Sub(visible.Sum().Log()) // n = Σ visible
}

// Step attends from the newest tokens of every sequence to all tokens so far, as the Step of SelfAttention does.
func (l *SigmoidAttention) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	mask, qkv := l.heads.causalMask(), step(l.QKV, x, at)
	return l.heads.project(x, qkv, fused.CachedSigmoidAttention(qkv, mask, at, l.cache), at)
}

// Mixing returns the Mixing of SelfAttention, or 0 for nil.
func (l *SigmoidAttention) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.SelfAttention.Mixing()
}
