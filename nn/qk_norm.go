package nn

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// QKNorm normalises the queries and keys of an attention before they are rotated (Henry et al. 2020; with gains,
// Dehghani et al. 2023). Every group x of their features becomes
//
//	x/rms ∘ γ,  rms = √(mean(x²) + ε)
//
// where γ is γ_q for queries and γ_k for keys. By NewHeadNorm, a group is a head, and all heads share the gains, as in
// Qwen3; by NewWidthNorm, it is all heads together, as in OLMo 2. The scores of a head are then at most
// √dρ·max|γ_q ∘ γ_k|, however large the activations grow.
type QKNorm struct {
	Q, K          graph.Expr // γ_q, γ_k, one gain for each feature of a group
	Eps           float64
	queries, keys int // groups
	scope         graph.Scope
}

// NewHeadNorm declares q_norm.weight and k_norm.weight, dρ gains each, which start at 1.
func NewHeadNorm(at Site, sizes fused.AttentionShape) *QKNorm {
	return newQKNorm(at, sizes.QK, sizes.QK, sizes.Heads, sizes.Groups)
}

// NewWidthNorm declares q_norm.weight with H·dρ gains and k_norm.weight with G·dρ gains, which start at 1.
func NewWidthNorm(at Site, sizes fused.AttentionShape) *QKNorm {
	return newQKNorm(at, sizes.Heads*sizes.QK, sizes.Groups*sizes.QK, 1, 1)
}

// newQKNorm declares gains for groups of q and k features.
func newQKNorm(at Site, q, k, queries, keys int) *QKNorm {
	return &QKNorm{
		Q: at.At("q_norm").Param("weight", graph.Const(1), q), K: at.At("k_norm").Param("weight", graph.Const(1), k),
		Eps: at.Eps, queries: queries, keys: keys, scope: at.Scope,
	}
}

// Forward normalises q and k in [q | k | v] and leaves v unchanged.
func (l *QKNorm) Forward(x graph.Expr) (result graph.Expr) { // (n, H·dρ+G(dρ+dh)) → (n, H·dρ+G(dρ+dh))
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if y, ok := fused.QKNorm(x, l.Q, l.K, l.queries, l.keys, l.Eps); ok {
		return y
	}
	shape := x.Shape()
	if len(shape) != 2 || l.Q.Shape() == nil || l.K.Shape() == nil { // building has failed
		return x
	}
	keys := l.queries * int(l.Q.Entries())
	values := keys + l.keys*int(l.K.Entries())
	y := l.norm(x.Columns(0, keys), l.Q, l.queries).Join(l.norm(x.Columns(keys, values), l.K, l.keys))
	if values < shape[1] {
		y = y.Join(x.Columns(values, shape[1]))
	}
	return y
}

// norm normalises groups of the columns of x.
func (l *QKNorm) norm(x, gains graph.Expr, groups int) graph.Expr { // (n, groups·size) → (n, groups·size)
	n, size := x.Shape()[0], int(gains.Entries())
	rows := x.Reshape(n*groups, size)
	rms := rows.Square().Mean().Shift(l.Eps).Sqrt()         // rms         (n·groups, 1)
	return rows.Div(rms).Mul(gains).Reshape(n, groups*size) // x/rms ∘ γ   (n, groups·size)
}
