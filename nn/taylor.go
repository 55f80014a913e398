package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// TaylorAttention is linear attention with the first two terms of e^(q·k) ≈ 1 + q·k for unit vectors, so that no weight
// is negative (Conti 2.1.2):
//
//	o_i = (Σ_j v_j + q̂_i·Σ_j k̂_jᵀ·v_j) / (n + q̂_i·Σ_j k̂_j),  q̂ = q/√(‖q‖² + ε),  k̂ = k/√(‖k‖² + ε)
//
// This is LinearAttention with φ(x) = [1, x̂], including sums, masks and decoding; with a causal mask the sums go to j
// ≤ i, and i takes the place of n. Conti prints two displays with sums in the wrong places (errata C5), and has no ε:
// it is the site's, and gives a row of zeros equal weights where 0/0 would be NaN. The lengths of queries and keys do
// not matter, nor does √dρ: this is not an approximation of SelfAttention with the same parameters. A Rotary preserves
// lengths, so queries and keys may be rotated: a weight then depends on their distance.
type TaylorAttention struct{ LinearAttention }

// NewTaylorAttention declares c_attn (d, H(2dρ+dh)) and c_proj (H·dh, d).
func NewTaylorAttention(at Site) *TaylorAttention {
	return &TaylorAttention{*newLinearAttention(at, taylor{at.Eps})}
}

// Forward computes attention within every sequence.
func (l *TaylorAttention) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	return l.LinearAttention.Forward(x)
}

// taylor is the similarity sim(q, k) = 1 + q̂·k̂.
type taylor struct{ eps float64 }

func (t taylor) of(q, k graph.Expr) graph.Expr { return t.unit(q).MatMulT(t.unit(k)).Shift(1) }

func (t taylor) unit(x graph.Expr) graph.Expr {
	return x.Div(x.Square().Sum().Shift(t.eps).Sqrt()) // x/√(‖x‖² + ε)
}

func (t taylor) features() graph.FeatureMap { return graph.Taylor(t.eps) }

// Step is like Forward, but takes only the newest tokens of every sequence.
func (l *TaylorAttention) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	return l.LinearAttention.Step(x, at)
}

// Mixing returns the Mixing of LinearAttention, or 0 for nil.
func (l *TaylorAttention) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.LinearAttention.Mixing()
}
