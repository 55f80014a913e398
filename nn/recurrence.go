package nn

import (
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// Recurrence is a layer whose heads each have a matrix as their state, S (dρ, dh), 0 before the first token. A token
// forgets a part of the state by the gates α of its features, adds its key and value, and reads the state by its query:
//
//	S ← Diag(α)·S + β·k·vᵀ,  o = Sᵀ·q
//
// or, by the delta rule, which first removes what the state holds at k,
//
//	S ← (I − β·k·kᵀ)·Diag(α)·S + β·k·vᵀ,  o = Sᵀ·q
//
// The results of the heads are normalised, multiplied by a gate, and projected:
//
//	y = (act(x·w_g + b_g) ∘ norm(o))·w_proj + b_proj
//
// Its constructors differ only in the layers that compute q, k, v, α, β and the gate. The cost is linear in the number
// of tokens, and a decoder stores S instead of keys and values. A token depends on those before it, and their order
// takes the place of positions. The site's mask must be Causal: a recurrence has no keys that a mask could hide.
type Recurrence struct {
	QKV   Layer // [q | k | v], packed as in SelfAttention
	Decay Layer // ln α ≤ 0, of every head or of every feature of its keys; nil for α = 1
	Beta  Layer // β of every head; nil for β = 1
	Norm  Layer // of the results of a head
	Gate  Layer // of the results of all heads, before Act
	Act   Layer
	Proj  Layer

	states states
}

// newRecurrence declares norm.weight (dh), c_gate (d, H·dh), with SiLU, and c_proj (H·dh, d), for a recurrence whose
// state is read and written through qkv.
func newRecurrence(at Site, delta bool, qkv, decay, beta Layer) *Recurrence {
	return gatedRecurrence(at, delta, qkv, decay, beta, SiLU{}, func() Layer {
		return at.affine("c_gate", at.Embd, []int{at.Heads * at.V}, at.Bias, graph.Normal(0.02))
	})
}

// gatedRecurrence is newRecurrence with another gate: act of the layer that gate declares.
func gatedRecurrence(at Site, delta bool, qkv, decay, beta, act Layer, gate func() Layer) *Recurrence {
	states := newStates(at, delta)
	norm := at.At("norm")
	norm.Embd = at.V
	return &Recurrence{
		QKV: qkv, Decay: decay, Beta: beta, Norm: NewRMSNorm(norm),
		Gate: gate(), Act: act, Proj: newOutProjection(at),
		states: states,
	}
}

// NewGLA returns gated linear attention (Yang et al. 2023, section 4): every feature of a key has a gate, computed from
// the token through 16 features,
//
//	S ← Diag(α)·S + k·vᵀ,  α = σ(x·w_↓·w_↑ + b_↑)^(1/16)
//
// The root keeps α near 1. The layer declares c_attn (d, H(2dρ+dh)), c_decay.down (d, 16), c_decay.up (16, H·dρ) and
// the parameters of norm.weight (dh), c_gate (d, H·dh) and c_proj (H·dh, d). The norm of a head is an RMSNorm and the
// gate is SiLU, as in the authors' programs. A Rotary is an error: features that are rotated into one another would
// have to decay alike.
func NewGLA(at Site) *Recurrence {
	refuseRotary(at, "gla")
	const rank, root = 16, 16
	qkv := at.affine("c_attn", at.Embd, at.packed(), at.Bias, graph.Normal(0.02))
	decay := at.At("c_decay")
	down := decay.affine("down", at.Embd, []int{rank}, false, graph.Normal(0.02))
	up := decay.affine("up", rank, []int{at.Heads * at.QK}, at.Bias, graph.Normal(up(rank)))
	return newRecurrence(at, false, qkv, chain{down, up, logSigmoid{1. / root}}, nil)
}

// NewGatedDeltaNet returns the gated delta rule (Yang et al. 2024, equation 10): a head has one gate, and replaces the
// value of a key instead of adding to it,
//
//	S ← (I − β·k·kᵀ)·α·S + β·k·vᵀ,  ln α = −e^a·softplus(x·w_α + b_α),  β = σ(x·w_β)
//
// with queries and keys of length 1: q/√(‖q‖² + ε). A query or key of zeros stays 0. Before that, q, k and v go through
// a ShortConv and SiLU. The layer declares c_attn (d, H(2dρ+dh)), c_attn.conv.weight, c_decay.weight (d, H),
// c_decay.bias and c_decay.a_log (H), c_beta (d, H), and norm.weight, c_gate and c_proj as NewGLA. The rates e^a start
// in 1 … 16, and softplus(b_α) in 0.001 … 0.1, as in Mamba-2. Rotated queries and keys keep their length, so a Rotary
// is allowed.
func NewGatedDeltaNet(at Site) *Recurrence {
	qkv := newUnitProjection(at)
	decay := newTimeDecay(at)
	return newRecurrence(at, true, qkv, decay, newBeta(at, Sigmoid{}))
}

// NewGatedDeltaNetNegEigval returns NewGatedDeltaNet with the β of NewDeltaNetNegEigval, β = 2·σ(x·w_β).
func NewGatedDeltaNetNegEigval(at Site) *Recurrence {
	qkv := newUnitProjection(at)
	decay := newTimeDecay(at)
	return newRecurrence(at, true, qkv, decay, newBeta(at, doubledSigmoid{}))
}

// NewKDA returns Kimi delta attention (Kimi Team 2025, equation 1 and section 4), the gated delta rule with a gate for
// every feature of a key,
//
//	S ← (I − β·k·kᵀ)·Diag(α)·S + β·k·vᵀ,  ln α = −e^a·softplus(x·w_↓·w_↑ + b_↑)
//
// where e^a is the rate of a head. It declares the parameters of NewGatedDeltaNet, except that the gates are computed
// through dh features, by c_decay.down (d, dh), c_decay.up (dh, H·dρ), whose bias it always has, and c_decay.a_log (H),
// and so is the logistic gate of the results, by c_gate.down (d, dh) and c_gate.up (dh, H·dh). A Rotary is an error, as
// in NewGLA.
func NewKDA(at Site) *Recurrence {
	refuseRotary(at, "kda")
	qkv := newUnitProjection(at)
	decay := at.At("c_decay")
	narrow := func(at Site) Layer {
		return at.affine("down", at.Embd, []int{at.V}, false, graph.Normal(0.02))
	}
	step := chain{narrow(decay), newTimeStep(decay.At("up"), at.V, at.Heads*at.QK)}
	alpha := timeDecay{step, newRates(decay), at.Scope}
	return gatedRecurrence(at, true, qkv, alpha, newBeta(at, Sigmoid{}), Sigmoid{}, func() Layer {
		gate := at.At("c_gate")
		return chain{narrow(gate), gate.affine("up", at.V, []int{at.Heads * at.V}, at.Bias, graph.Normal(up(at.V)))}
	})
}

// NewDeltaNet returns the delta rule (Yang et al. 2024, "Parallelizing linear transformers with the delta rule over
// sequence length"), NewGatedDeltaNet without gates: α = 1. Nothing is forgotten unless it is replaced.
func NewDeltaNet(at Site) *Recurrence {
	qkv := newUnitProjection(at)
	return newRecurrence(at, true, qkv, nil, newBeta(at, Sigmoid{}))
}

// NewDeltaNetNegEigval returns NewDeltaNet with a β of up to 2 (Grazzi et al. 2024, "Unlocking state-tracking in linear
// RNNs through negative eigenvalues", section 4):
//
//	β = 2·σ(x·w_β)
//
// The eigenvalue 1 − β of I − β·k·kᵀ is then between −1 and 1. At β = 2 a token reflects the state, so one layer can
// count modulo 2. It cannot if all eigenvalues are positive.
func NewDeltaNetNegEigval(at Site) *Recurrence {
	qkv := newUnitProjection(at)
	return newRecurrence(at, true, qkv, nil, newBeta(at, doubledSigmoid{}))
}

// NewRetNet returns retention (Sun et al. 2023, equation 5): every head h, from 0, forgets at a constant rate,
//
//	S ← γ_h·S + k·vᵀ,  γ_h = 1 − 2^(−5−h)
//
// It declares c_attn (d, H(2dρ+dh)), and norm.weight, c_gate and c_proj as NewGLA, whose norm takes the place of the
// paper's group norm. A result then depends on the product of a query and a key that are γ_h^n apart, so a Rotary has
// the meaning that it has in attention; the paper rotates them.
func NewRetNet(at Site) *Recurrence {
	qkv := chain{at.affine("c_attn", at.Embd, at.packed(), at.Bias, graph.Normal(0.02))}
	if at.Rotary != nil {
		qkv = append(qkv, rotatedHeads{at.Rotary, 2 * at.Heads, at.QK})
	}
	gamma := at.Value("decay",
		func(h int, _ *rand.Rand) float64 { return elementary.Log1p(-math.Ldexp(1, -5-h)) },
		1, at.Heads)
	return newRecurrence(at, false, qkv, constant{gamma}, nil)
}

// newBeta declares c_beta (d, H), whose results act turns into β.
func newBeta(at Site, act Layer) Layer {
	return chain{at.affine("c_beta", at.Embd, []int{at.Heads}, false, graph.Normal(0.02)), act}
}

// packed returns the numbers of columns of queries, keys and values.
func (s Site) packed() []int { return []int{s.Heads * s.QK, s.Heads * s.QK, s.Heads * s.V} }

// refuseRotary fails if the site has rotary positions.
func refuseRotary(at Site, name string) {
	if at.Rotary != nil {
		at.Failf("%s with rotary positions, whose meaning is undefined: "+
			"a rotation mixes features that decay differently", name)
	}
}

// Forward computes the results of all tokens of every sequence.
func (l *Recurrence) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	qkv := l.QKV.Forward(x).In(l.states.scope)
	gates, beta := l.gates(x)
	return l.finish(x, l.states.forward(qkv, gates, beta))
}

// Step continues from the states after the tokens so far. It equals rows at, at + 1, … of Forward. Tokens must come in
// order: running fails unless at is 0, which begins again, or the number of tokens so far.
func (l *Recurrence) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	qkv := step(l.QKV, x, at).In(l.states.scope)
	gates, beta := l.gates(x)
	return l.finish(x, l.states.step(qkv, gates, beta, at))
}

// Mixing returns 2H·dρ·dh, for writing and reading the state, and H·dρ·dh more with the delta rule, which also reads it
// at the key.
func (l *Recurrence) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.states.mixing()
}

// gates returns ln α and β of the tokens, empty if there are none.
func (l *Recurrence) gates(x graph.Expr) (gates, beta graph.Expr) {
	scope := l.states.scope
	if l.Decay != nil {
		gates = scope.Place("decay", l.Decay.Forward(x).In(scope))
	}
	if l.Beta != nil {
		beta = scope.Place("beta", l.Beta.Forward(x).In(scope))
	}
	return gates, beta
}

// finish returns (act(x·w_g + b_g) ∘ norm(o))·w_proj + b_proj.
func (l *Recurrence) finish(x, o graph.Expr) graph.Expr { // (n, H·dh) → (n, d)
	rows, scope, h := 0, l.states.scope, l.states.shape
	if s := o.Shape(); len(s) == 2 {
		rows = s[0]
	}
	heads := o.Reshape(rows*h.Heads, h.V)
	o = In(scope, "norm", l.Norm)(heads).In(scope).Reshape(rows, h.Heads*h.V)
	return l.Proj.Forward(scope.Place("heads", multiplied(scope, l.Act, l.Gate.Forward(x).In(scope), o)))
}

// states are the matrices of the heads of a recurrence, which it carries from token to token.
type states struct {
	shape fused.RecurrenceShape
	cache *fused.RecurrenceCache
	state *State
	scope graph.Scope
}

// newStates returns the states of the layer at a site. A site with another mask than Causal is an error.
func newStates(at Site, delta bool) states {
	at.checkRecurrence()
	h := fused.RecurrenceShape{
		Batch: at.Batch, Context: at.Context, Heads: at.Heads, QK: at.QK, V: at.V, Delta: delta,
	}
	cache := cacheAt(at.Caches, at.Path(), func() *fused.RecurrenceCache { return fused.NewRecurrenceCache(h) })
	return states{h, cache, at.state(h.Heads * h.QK * h.V), at.Scope}
}

// checkRecurrence fails unless the site's mask is Causal. It also fails if the site has settings of heads.
func (s Site) checkRecurrence() {
	s.refuse("a recurrence")
	if causal, padded, ok := hides(s.Mask); !ok || !causal || padded {
		s.Failf("a recurrence with the mask %s: it goes from the first token to the last, want nn.Causal", s.Mask)
	}
}

// forward returns what the queries read: Sᵀ·q of all tokens of every sequence.
func (l states) forward(qkv, gates, beta graph.Expr) graph.Expr { // (B·T, H(2dρ+dh)) → (B·T, H·dh)
	var before graph.Expr
	if l.state != nil {
		before = l.state.Before.In(l.scope)
	}
	y, after, ok := fused.Recurrence(qkv, gates, beta, before, l.shape)
	var all []graph.Expr
	if !ok {
		y, all = l.spelled(qkv, gates, beta, before)
		after = all[len(all)-1].Reshape(l.shape.Batch, l.shape.Heads*l.shape.QK*l.shape.V)
	}
	if l.state != nil {
		l.state.After = after
	}
	l.scope.Derive("state_norm", func() graph.Expr {
		if norms, ok := fused.RecurrenceNorms(qkv, gates, beta, before, l.shape); ok {
			return norms
		}
		return l.norms(all)
	})
	return l.scope.Place("read", y)
}

// norms returns √ΣS² of the states after every token.
func (l states) norms(all []graph.Expr) graph.Expr { // T of (B, H, dρ, dh) → (B·T, H)
	h := l.shape
	norms := make([]graph.Expr, len(all))
	for t, state := range all {
		norms[t] = state.Square().Reshape(h.Batch*h.Heads, h.QK*h.V).Sum().Sqrt().Reshape(h.Batch, h.Heads)
	}
	return norms[0].Join(norms[1:]...).Reshape(h.Batch*h.Context, h.Heads)
}

// step is forward for new tokens, which continue from the states after those so far.
func (l states) step(qkv, gates, beta, at graph.Expr) graph.Expr { // (B·n, H(2dρ+dh)) → (B·n, H·dh)
	return l.scope.Place("read", fused.CachedRecurrence(qkv, gates, beta, at, l.cache))
}

// mixing returns the number of products of a token with the states.
func (l states) mixing() float64 {
	n := float64(l.shape.Heads) * float64(l.shape.QK) * float64(l.shape.V)
	if l.shape.Delta {
		return 3 * float64(n)
	}
	return 2 * float64(n)
}

// spelled is the recurrence, token by token. It also returns the states after every token, (B, H, dρ, dh).
func (l states) spelled(qkv, gates, beta, before graph.Expr) (y graph.Expr, all []graph.Expr) { // → (B·T, H·dh)
	h := l.shape
	at := func(x graph.Expr, t, from, heads int, shape ...int) graph.Expr { // columns of token t of every sequence
		width := int(x.Entries()) / (h.Batch * h.Context)
		x = x.Reshape(h.Batch, h.Context*width).Columns(t*width+from, t*width+from+heads*h.Heads)
		return x.Reshape(append([]int{h.Batch, h.Heads}, shape...)...)
	}
	alpha := func(t int) graph.Expr { //                                    (B, H, 1 or dρ, 1)
		switch n := int(gates.Entries()); n {
		case h.Heads, h.Heads * h.QK: // the same for all tokens
			return gates.Exp().Reshape(1, h.Heads, n/h.Heads, 1)
		default:
			n /= h.Batch * h.Context * h.Heads
			return at(gates.Exp(), t, 0, n, n, 1)
		}
	}
	var state graph.Expr
	results := make([]graph.Expr, h.Context)
	all = make([]graph.Expr, h.Context)
	for t := range results {
		q := at(qkv, t, 0, h.QK, 1, h.QK)             //                 (B, H, 1, dρ)
		k := at(qkv, t, h.Heads*h.QK, h.QK, 1, h.QK)  //                 (B, H, 1, dρ)
		kT := at(qkv, t, h.Heads*h.QK, h.QK, h.QK, 1) //                 (B, H, dρ, 1)
		u := at(qkv, t, 2*h.Heads*h.QK, h.V, 1, h.V)  // v               (B, H, 1, dh)
		switch {
		case t > 0:
		case before.Graph() != nil:
			state = before.Reshape(h.Batch, h.Heads, h.QK, h.V)
		default:
			state = kT.MatMul(u).Scale(0) // S = 0           (B, H, dρ, dh)
		}
		if gates.Graph() != nil {
			state = state.Mul(alpha(t)) // Diag(α)·S
		}
		if h.Delta {
			u = u.Sub(k.MatMul(state)) // v − Sᵀ·k        (B, H, 1, dh)
		}
		if beta.Graph() != nil {
			u = u.Mul(at(beta, t, 0, 1, 1, 1)) // β·(…)
		}
		state = state.Add(kT.MatMul(u)) // S + k·uᵀ
		all[t] = state
		results[t] = q.MatMul(state).Reshape(h.Batch, h.Heads*h.V) // Sᵀ·q            (B, H·dh)
	}
	y = results[0].Join(results[1:]...).Reshape(h.Batch*h.Context, h.Heads*h.V)
	return y, all
}
