package nn

import (
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// states are the matrices of the heads of a recurrence, which it carries from token to token.
type states struct {
	shape graph.RecurrenceShape
	cache *graph.RecurrenceCache
	state *State
	scope graph.Scope
}

// newStates returns the states of the layer at a site. A site with another mask than Causal is an error.
func newStates(at Site, delta bool) states {
	at.refuseMask()
	h := graph.RecurrenceShape{
		Batch: at.Batch, Context: at.Context, Heads: at.Heads, QK: at.QK, V: at.V, Delta: delta,
	}
	cache := cacheAt(at.Caches, at.Path(), func() *graph.RecurrenceCache { return graph.NewRecurrenceCache(h) })
	return states{h, cache, at.state(h.Heads * h.QK * h.V), at.Scope}
}

// refuseMask fails unless the site's mask is Causal.
func (s Site) refuseMask() {
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
	y, after, ok := graph.Recurrence(qkv, gates, beta, before, l.shape)
	var all []graph.Expr
	if !ok {
		y, all = l.spelled(qkv, gates, beta, before)
		after = all[len(all)-1].Reshape(l.shape.Batch, l.shape.Heads*l.shape.QK*l.shape.V)
	}
	if l.state != nil {
		l.state.After = after
	}
	l.scope.Derive("state_norm", func() graph.Expr {
		if norms, ok := graph.RecurrenceNorms(qkv, gates, beta, before, l.shape); ok {
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
	return l.scope.Place("read", graph.CachedRecurrence(qkv, gates, beta, at, l.cache))
}

// mixing returns the number of products of a token with the states.
func (l states) mixing() float64 {
	n := float64(l.shape.Heads) * float64(l.shape.QK) * float64(l.shape.V)
	if l.shape.Delta {
		return 3 * n
	}
	return 2 * n
}

// spelled is the recurrence, token by token. It also returns the states after every token, (B, H, dρ, dh).
func (l states) spelled(qkv, gates, beta, before graph.Expr) (y graph.Expr, all []graph.Expr) { // → (B·T, H·dh)
	h := l.shape
	at := func(x graph.Expr, t, from, heads int, shape ...int) graph.Expr { // columns of token t of every sequence
		width := int(x.Entries()) / (h.Batch * h.Context)
		x = x.Reshape(h.Batch, h.Context*width).Cols(t*width+from, t*width+from+heads*h.Heads)
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

// logSigmoid is c·ln σ(x) = −c·softplus(−x), entry by entry.
type logSigmoid struct{ factor float64 }

// Forward returns c·ln σ(x).
func (l logSigmoid) Forward(x graph.Expr) graph.Expr {
	return times(Softplus{}.Forward(times(x, -1)), -l.factor)
}

// doubledSigmoid is 2·σ(x), entry by entry.
type doubledSigmoid struct{}

// Forward returns 2·σ(x).
func (doubledSigmoid) Forward(x graph.Expr) graph.Expr { return times(Sigmoid{}.Forward(x), 2) }

// timeDecay is ln α = −e^a·Δ with the time steps Δ = softplus(x·w + b), as in Mamba-2: one of every head, or one of
// every feature of its keys.
type timeDecay struct {
	step  Layer      // before softplus
	a     graph.Expr // (H)
	scope graph.Scope
}

// newTimeDecay declares c_decay.weight (d, H), c_decay.bias (H) and c_decay.a_log (H).
func newTimeDecay(at Site) Layer {
	decay := at.At("c_decay")
	step := newTimeStep(decay, at.Embd, at.Heads)
	return timeDecay{step, newRates(decay), at.Scope}
}

// newTimeStep declares weight (in, out) and bias (out), whose softplus starts in 0.001 … 0.1.
func newTimeStep(at Site, in, out int) Layer {
	weight := at.Param("weight", graph.Normal(0.02), in, out)
	bias := at.Param("bias", func(_ int, rng *rand.Rand) float64 {
		step := math.Exp(math.Log(0.001) + rng.Float64()*math.Log(100))
		return math.Log(math.Expm1(step)) // the inverse of softplus
	}, out)
	return &Linear{weight, bias, at.Scope}
}

// newRates declares a_log (H), the logarithms of rates that start in 1 … 16.
func newRates(at Site) graph.Expr {
	return at.Param("a_log", func(_ int, rng *rand.Rand) float64 { return math.Log(1 + 15*rng.Float64()) }, at.Heads)
}

// Forward returns −e^a ∘ softplus(x·w + b).
func (l timeDecay) Forward(x graph.Expr) graph.Expr { // (n, d) → (n, H or H·dρ)
	return decayed(l.step.Forward(x).In(l.scope), l.a)
}

// decayed returns −e^a ∘ softplus(z), for a of every head.
func decayed(z, a graph.Expr) graph.Expr { // (n, H or H·dρ), (H) → (n, H or H·dρ)
	if y, ok := graph.TimeDecay(z, a); ok {
		return y
	}
	rates := a.Exp().Scale(-1)
	if s, h := z.Shape(), int(a.Entries()); len(s) == 2 && s[1] != h {
		rows := z.Softplus().Reshape(s[0], h, s[1]/h)
		return rows.Mul(rates.Reshape(1, h, 1)).Reshape(s...)
	}
	return z.Softplus().Mul(rates)
}

// unitProjection computes q, k and v of a delta rule: c_attn, a short convolution, SiLU, the lengths 1 of queries and
// keys, and their rotation.
type unitProjection struct {
	affine Layer
	conv   *ShortConv
	unit   *QKNorm // x/√(‖x‖² + ε), an RMSNorm with the gains 1/√dρ and ε/dρ
	rotate chain   // empty without a Rotary
	scope  graph.Scope
}

// newUnitProjection declares c_attn and c_attn.conv.
func newUnitProjection(at Site) *unitProjection {
	widths, dims := at.packed(), float64(at.QK)
	gain := at.Value("unit", graph.Const(1/math.Sqrt(dims)), at.QK)
	l := &unitProjection{
		affine: at.affine("c_attn", at.Embd, widths, at.Bias, graph.Normal(0.02)),
		conv:   NewShortConv(at.At("c_attn").At("conv"), sum(widths)),
		unit:   &QKNorm{gain, gain, at.Eps / dims, at.Heads, at.Heads, at.Scope}, scope: at.Scope,
	}
	if at.Rotary != nil {
		l.rotate = chain{rotatedHeads{at.Rotary, 2 * at.Heads, at.QK}}
	}
	return l
}

// Forward returns [q | k | v].
func (l *unitProjection) Forward(x graph.Expr) graph.Expr {
	return l.of(l.conv.Forward(l.affine.Forward(x)))
}

// Step is Forward for the newest tokens of every sequence.
func (l *unitProjection) Step(x, at graph.Expr) graph.Expr {
	return l.of(l.conv.Step(l.affine.Forward(x), at))
}

// of computes the rest after the convolution.
func (l *unitProjection) of(x graph.Expr) graph.Expr { // (n, H(2dρ+dh)) → (n, H(2dρ+dh))
	return l.rotate.Forward(l.unit.Forward(SiLU{}.Forward(x).In(l.scope)))
}

// chain applies layers one after the other.
type chain []Layer

// Forward returns the result of the last layer.
func (l chain) Forward(x graph.Expr) graph.Expr {
	for _, layer := range l {
		x = layer.Forward(x)
	}
	return x
}

// constant is the same for all inputs.
type constant struct{ value graph.Expr }

// Forward returns the value.
func (l constant) Forward(graph.Expr) graph.Expr { return l.value }

// rotatedHeads rotates the first groups of size columns.
type rotatedHeads struct {
	rotary       Rotary
	groups, size int
}

// Forward returns [q | k | v] with rotated q and k.
func (l rotatedHeads) Forward(x graph.Expr) graph.Expr { return l.rotary.Rotate(x, l.groups, l.size) }
