package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// GroupedAttention is SelfAttention in which H/G consecutive heads form a group that shares its keys and values
// (grouped-query attention, Ainslie et al. 2023; with one group multi-query attention, Shazeer 2019):
//
//	out = concat over h of softmax(q_h·k_gᵀ/√dρ + mask)·v_g, times w_proj, plus b_proj,  g = ⌊h·G/H⌋,  h = 0 … H−1
//
// The columns of its projection are [q | k | v], H queries, G keys and G values. A decoder reads and stores G(dρ+dh)
// numbers of a token, not H(dρ+dh). The gradient of a key or value is the sum over the heads that share it. Everything
// else, including Step, the cap of the scores and sinks, is the same as in SelfAttention, which it equals if G = H.
type GroupedAttention struct{ SelfAttention }

// NewGroupedAttention declares c_attn (d, H·dρ+G(dρ+dh)), with a bias if bias is true, and c_proj (H·dh, d), with a
// bias if the site's Bias is true. It is an error if the groups do not divide the heads.
func NewGroupedAttention(at Site, groups int, bias bool) *GroupedAttention {
	sizes := at.heads(at.QK, at.V)
	if groups < 1 || at.Heads%groups != 0 {
		at.Failf("%d groups, want a divisor of %d heads", groups, at.Heads)
	}
	sizes.Groups = groups
	return &GroupedAttention{*newSelfAttention(at, sizes, bias)}
}

// Forward computes attention within every sequence.
func (l *GroupedAttention) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	qkv := l.QKV.Forward(x)
	y, ok := l.heads.kernel(qkv)
	if !ok {
		y = l.heads.results(l.repeat(qkv))
	}
	return l.heads.project(x, qkv, y, noPosition())
}

// repeat copies every key and value for each head that shares it, so that each head has its own, as in SelfAttention.
func (l *GroupedAttention) repeat(qkv graph.Expr) graph.Expr { // (n, H·dρ+G(dρ+dh)) → (n, H(2dρ+dh))
	h := l.heads.sizes
	keys, values := h.Heads*h.QK, (h.Heads+h.Groups)*h.QK // where they begin
	var k, v []graph.Expr
	for j := range h.Heads {
		g := j * h.Groups / h.Heads
		k = append(k, qkv.Columns(keys+g*h.QK, keys+(g+1)*h.QK))
		v = append(v, qkv.Columns(values+g*h.V, values+(g+1)*h.V))
	}
	return qkv.Columns(0, keys).Join(append(k, v...)...)
}

// Step is like Forward, but takes only the newest tokens of every sequence.
func (l *GroupedAttention) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	return l.SelfAttention.Step(x, at)
}

// Mixing returns the Mixing of SelfAttention, or 0 for nil.
func (l *GroupedAttention) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.SelfAttention.Mixing()
}
