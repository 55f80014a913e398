package nn

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// Mamba2 is the layer of Mamba-2 (Dao and Gu 2024, "Transformers are SSMs", section 7.1), whose heads each have a
// matrix as their state, S (dρ, dh), 0 before the first token. A token has a time step Δ for each head. The larger it
// is, the more the head forgets, and the more of the token's value it adds:
//
//	S ← e^(−Δ·e^a)·S + Δ·k·vᵀ,  o = Sᵀ·q + D·v,  Δ = softplus(x·w_Δ + b_Δ)
//
// with the numbers a and D of the head. Groups of H/G consecutive heads share their queries and keys, and q, k and v go
// through a ShortConv and SiLU. The results of all heads are multiplied by a gate, normalised together and projected:
//
//	y = norm(SiLU(x·w_g + b_g) ∘ o)·w_proj + b_proj
//
// The paper writes C for q, B for k, x for v and z for the gate. The bias of the projection takes the place of the bias
// of the paper's convolution. The cost is linear in the number of tokens, and a decoder stores S instead of keys and
// values. A token depends on those before it, and their order takes the place of positions. The site's mask must be
// Causal. Queries and keys that rotate have the meaning that they have in attention, since all features of a head decay
// alike.
type Mamba2 struct {
	QKV      Layer      // [q | k | v], with the queries and keys of every head
	TimeStep Layer      // x·w_Δ + b_Δ  (d, H)
	Rates    graph.Expr // a  (H)
	Direct   graph.Expr // D  (H)
	Gate     Layer      // x·w_g + b_g  (d, H·dh)
	Norm     Layer      // of the features of all heads
	Proj     Layer

	states states
}

// NewMamba2 declares c_attn (d, 2G·dρ+H·dh), c_attn.conv.weight, c_decay.weight (d, H), c_decay.bias and c_decay.a_log
// (H), d_skip (H), which starts at 1, c_gate (d, H·dh), norm.weight (H·dh) and c_proj (H·dh, d). The rates e^a start in
// 1 … 16, and softplus(b_Δ) in 0.001 … 0.1. It is an error if the groups do not divide the heads.
func NewMamba2(at Site, groups int) *Mamba2 {
	if groups < 1 || at.Heads%groups != 0 || !at.enumerable(max(at.QK, at.V)) {
		at.Failf("%d groups, want a divisor of %d heads", groups, at.Heads)
		return &Mamba2{states: states{scope: at.Scope}}
	}
	decay, norm := at.At("c_decay"), at.At("norm")
	norm.Embd = at.Heads * at.V
	return &Mamba2{
		QKV:      newGroupedProjection(at, groups),
		TimeStep: newTimeStep(decay, at.Embd, at.Heads), Rates: newRates(decay),
		Direct: at.Scope.Param("d_skip", graph.Const(1), at.Heads),
		Gate:   at.affine("c_gate", at.Embd, []int{at.Heads * at.V}, at.Bias, graph.Normal(0.02)),
		Norm:   NewRMSNorm(norm), Proj: newOutProjection(at), states: newStates(at, false),
	}
}

// Forward computes the results of all tokens of every sequence.
func (l *Mamba2) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	qkv := l.QKV.Forward(x).In(l.states.scope)
	gates, steps := l.gates(x)
	return l.finish(x, qkv, l.states.forward(qkv, gates, steps))
}

// Step continues from the states after the tokens so far, as in Recurrence.
func (l *Mamba2) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	qkv := step(l.QKV, x, at).In(l.states.scope)
	gates, steps := l.gates(x)
	return l.finish(x, qkv, l.states.step(qkv, gates, steps, at))
}

// Mixing returns 2H·dρ·dh, for writing and reading the state.
func (l *Mamba2) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.states.mixing()
}

// gates returns ln α = −Δ·e^a and Δ.
func (l *Mamba2) gates(x graph.Expr) (gates, steps graph.Expr) { // (n, d) → (n, H), (n, H)
	scope := l.states.scope
	z := l.TimeStep.Forward(x).In(scope)
	return scope.Place("decay", decayed(z, l.Rates)), scope.Place("beta", Softplus{}.Forward(z))
}

// finish returns norm(SiLU(x·w_g + b_g) ∘ (o + D·v))·w_proj + b_proj.
func (l *Mamba2) finish(x, qkv, o graph.Expr) graph.Expr { // (n, H·dh) → (n, d)
	scope, h := l.states.scope, l.states.shape
	v := qkv.Columns(2*h.Heads*h.QK, h.Heads*(2*h.QK+h.V))
	o = addHeads(o, v, l.Direct)
	y := multiplied(scope, SiLU{}, l.Gate.Forward(x).In(scope), o)
	return l.Proj.Forward(scope.Place("heads", In(scope, "norm", l.Norm)(y).In(scope)))
}

// addHeads returns o + d∘v, where every feature has the number of its head.
func addHeads(o, v, d graph.Expr) graph.Expr { // (n, H·dh), (n, H·dh), (H) → (n, H·dh)
	if y, ok := fused.AddScaled(o, v, d); ok {
		return y
	}
	rows, heads := o.Shape(), int(d.Entries())
	if len(rows) != 2 || heads < 1 { // building has failed
		return o
	}
	scaled := v.Reshape(rows[0], heads, rows[1]/heads).Mul(d.Reshape(1, heads, 1))
	return o.Add(scaled.Reshape(rows...))
}

// groupedProjection computes q, k and v of heads that share queries and keys in groups: c_attn, a short convolution,
// SiLU, and their rotation.
type groupedProjection struct {
	affine Layer
	conv   *ShortConv
	rotate chain // empty without a Rotary
	groups int
	heads  int
	qk, v  int
	scope  graph.Scope
}

// newGroupedProjection declares c_attn and c_attn.conv.
func newGroupedProjection(at Site, groups int) *groupedProjection {
	widths := []int{groups * at.QK, groups * at.QK, at.Heads * at.V}
	l := &groupedProjection{
		affine: at.affine("c_attn", at.Embd, widths, at.Bias, graph.Normal(0.02)),
		conv:   NewShortConv(at.At("c_attn").At("conv"), sum(widths)),
		groups: groups, heads: at.Heads, qk: at.QK, v: at.V, scope: at.Scope,
	}
	if at.Rotary != nil {
		l.rotate = chain{rotatedHeads{at.Rotary, 2 * groups, at.QK}}
	}
	return l
}

// Forward returns [q | k | v].
func (l *groupedProjection) Forward(x graph.Expr) graph.Expr {
	return l.of(l.conv.Forward(l.affine.Forward(x)))
}

// Step is Forward for the newest tokens of every sequence.
func (l *groupedProjection) Step(x, at graph.Expr) graph.Expr {
	return l.of(l.conv.Step(l.affine.Forward(x), at))
}

// of computes the rest after the convolution.
func (l *groupedProjection) of(x graph.Expr) graph.Expr { // (n, 2G·dρ+H·dh) → (n, H(2dρ+dh))
	x = l.rotate.Forward(SiLU{}.Forward(x).In(l.scope))
	if l.groups == l.heads {
		return x
	}
	var order []int                                  // the columns of a group appear for each of its heads
	for _, from := range []int{0, l.groups * l.qk} { // queries, keys
		for h := range l.heads {
			order = append(order, span(from+h*l.groups/l.heads*l.qk, l.qk)...)
		}
	}
	return gathered(x, append(order, span(2*l.groups*l.qk, l.heads*l.v)...))
}
