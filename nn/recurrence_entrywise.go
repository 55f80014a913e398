package nn

import (
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// MinGRU is the minimal gated recurrent unit (Feng et al. 2024, section 3.1), whose state h has H·dh features, 0 before
// the first token. A token replaces the share z of each:
//
//	h_t = (1 − z_t)∘h_{t−1} + z_t∘u_t,  z_t = σ(x_t·w_z + b_z),  u_t = x_t·w_u + b_u
//	y = h·w_proj + b_proj
//
// Neither the gate nor the update depends on the state, so that both are known for all tokens at once; a GRU computes
// them from h_{t−1}. The paper also keeps h positive to scan logarithms, which this scan does not need. A decoder
// stores h instead of keys and values. A token depends on those before it, and their order takes the place of
// positions. The site's mask must be Causal, and a Rotary is an error: there are no queries and keys.
type MinGRU struct {
	Decay  Layer // x·w_z + b_z  (d, H·dh)
	Update Layer // x·w_u + b_u  (d, H·dh)
	Proj   Layer

	features features
}

// NewMinGRU declares c_decay and c_update (d, H·dh), and c_proj (H·dh, d).
func NewMinGRU(at Site) *MinGRU {
	width := []int{at.Heads * at.V}
	return &MinGRU{
		Decay:    at.affine("c_decay", at.Embd, width, at.Bias, graph.Normal(0.02)),
		Update:   at.affine("c_update", at.Embd, width, at.Bias, graph.Normal(0.02)),
		features: newFeatures(at, "mingru", true), Proj: newOutProjection(at),
	}
}

// Forward computes the results of all tokens of every sequence.
func (l *MinGRU) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	return l.finish(l.features.forward(l.inputs(x)))
}

// Step continues from the states after the tokens so far, as in Recurrence.
func (l *MinGRU) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	b, c := l.inputs(x)
	return l.finish(l.features.step(b, c, at))
}

// Mixing returns H·dh, for the products with the state.
func (l *MinGRU) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.features.mixing()
}

// finish returns h·w_proj + b_proj.
func (l *MinGRU) finish(h graph.Expr) graph.Expr { // (n, H·dh) → (n, d)
	return l.Proj.Forward(l.features.scope.Place("heads", h))
}

// inputs returns u and −z.
func (l *MinGRU) inputs(x graph.Expr) (u, c graph.Expr) { // (n, d) → (n, H·dh), (n, H·dh)
	scope := l.features.scope
	u, logits := l.Update.Forward(x).In(scope), l.Decay.Forward(x).In(scope)
	if c, ok := fused.Share(logits); ok {
		return u, c
	}
	return u, logits.Sigmoid().Scale(-1)
}

// RGLRU is the recurrent block of Griffin (De et al. 2024, section 2.4) with the real-gated linear recurrent unit,
// whose state h has H·dh features, 0 before the first token. With u the input after a ShortConv,
//
//	r_t = σ(u_t·w_r + b_r),  i_t = σ(u_t·w_i + b_i),  a_t = σ(Λ)^(8·r_t)            (1)–(3)
//	h_t = a_t∘h_{t−1} + √(1 − a_t²)∘(i_t∘u_t)                                       (4)
//	y = (GELU(x·w_g + b_g) ∘ h)·w_proj + b_proj
//
// so that a state of random inputs keeps its size, whatever its gates are. Here w_r and w_i are full matrices, as in
// the equations; the paper's models have blocks of them. A decoder stores h, and the three tokens that the convolution
// needs. A token depends on those before it, and their order takes the place of positions. The site's mask must be
// Causal, and a Rotary is an error: there are no queries and keys.
type RGLRU struct {
	Input  Layer      // u  (d, H·dh)
	Decay  Layer      // u·w_r + b_r  (H·dh, H·dh)
	Rates  graph.Expr // Λ  (H·dh)
	Update Layer      // u·w_i + b_i  (H·dh, H·dh)
	Gate   Layer      // x·w_g + b_g  (d, H·dh)
	Proj   Layer

	features features
}

// NewRGLRU declares c_attn (d, H·dh), c_attn.conv.weight, c_decay (H·dh, H·dh), c_decay.lambda (H·dh), c_update (H·dh,
// H·dh), c_gate (d, H·dh) and c_proj (H·dh, d). σ(Λ)⁸ starts in 0.9 … 0.999.
func NewRGLRU(at Site) *RGLRU {
	width := at.Heads * at.V
	conv := NewShortConv(at.At("c_attn").At("conv"), width)
	input := at.affine("c_attn", at.Embd, []int{width}, at.Bias, graph.Normal(0.02))
	decay := at.affine("c_decay", width, []int{width}, at.Bias, graph.Normal(up(width)))
	rates := at.At("c_decay").Param("lambda", func(_ int, rng *rand.Rand) float64 {
		a := elementary.Pow(0.9+float64(0.099*rng.Float64()), 1./lruPower)
		return elementary.Log(a / (1 - a))
	}, width)
	return &RGLRU{
		Input: convolvedAfter{input, conv, at.Scope}, Decay: decay, Rates: rates,
		Update:   at.affine("c_update", width, []int{width}, at.Bias, graph.Normal(up(width))),
		Gate:     at.affine("c_gate", at.Embd, []int{width}, at.Bias, graph.Normal(0.02)),
		features: newFeatures(at, "rglru", false), Proj: newOutProjection(at),
	}
}

// lruPower is c of a^(c·r).
const lruPower = 8

// Forward computes the results of all tokens of every sequence.
func (l *RGLRU) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	return l.finish(x, l.features.forward(l.inputs(l.Input.Forward(x))))
}

// Step continues from the states after the tokens so far, as in Recurrence.
func (l *RGLRU) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	b, c := l.inputs(step(l.Input, x, at))
	return l.finish(x, l.features.step(b, c, at))
}

// Mixing returns H·dh, for the products with the state.
func (l *RGLRU) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.features.mixing()
}

// inputs returns √(1 − a²)∘i∘u and a − 1.
func (l *RGLRU) inputs(u graph.Expr) (b, c graph.Expr) { // (n, H·dh) → (n, H·dh), (n, H·dh)
	scope := l.features.scope
	u = u.In(scope)
	c = lruDecay(l.Decay.Forward(u).In(scope), l.Rates)
	return lruInput(multiplied(scope, Sigmoid{}, l.Update.Forward(u).In(scope), u), c), c
}

// finish returns (GELU(x·w_g + b_g) ∘ h)·w_proj + b_proj.
func (l *RGLRU) finish(x, h graph.Expr) graph.Expr { // (n, H·dh) → (n, d)
	scope := l.features.scope
	return l.Proj.Forward(scope.Place("heads", multiplied(scope, GELU{}, l.Gate.Forward(x).In(scope), h)))
}

// lruDecay returns a − 1 = σ(Λ)^(8·σ(z)) − 1.
func lruDecay(z, lambda graph.Expr) graph.Expr { // (n, w), (w) → (n, w)
	if y, ok := fused.LRUDecay(z, lambda, lruPower); ok {
		return y
	}
	rates := lambda.Scale(-1).Softplus().Scale(-lruPower) // 8·ln σ(Λ)
	log := z.Sigmoid().Mul(rates)                         // ln a
	return log.Scale(0.5).Tanh().Mul(log.Exp().Shift(1))  // a − 1 = tanh(½ ln a)·(a + 1), which does not cancel
}

// lruInput returns √(1 − a²)∘v, given c = a − 1, with 1 − a² = −c(2 + c).
func lruInput(v, c graph.Expr) graph.Expr { // (n, w), (n, w) → (n, w)
	if y, ok := fused.LRUInput(v, c); ok {
		return y
	}
	const least = 0x1p-126 // at a = 1 the root has no derivative; a constant has 0
	return c.Shift(2).Mul(c.Scale(-1)).Clamp(least, 1).Sqrt().Mul(v)
}

// features are the states of a recurrence entry by entry, which it carries from token to token.
type features struct {
	shape fused.ScanShape
	heads int // their number, each with a part of the features
	cache *fused.ScanCache
	state *State
	scope graph.Scope
}

// newFeatures returns the states of the named layer at a site, which add or average what they are given. A site with
// another mask than Causal, or with rotary positions, is an error.
func newFeatures(at Site, name string, average bool) features {
	at.checkRecurrence()
	if at.Rotary != nil {
		at.Failf("%s with rotary positions, whose meaning is undefined: it has no queries and keys", name)
	}
	h := fused.ScanShape{Batch: at.Batch, Context: at.Context, Width: at.Heads * at.V, Average: average}
	cache := cacheAt(at.Caches, at.Path(), func() *fused.ScanCache { return fused.NewScanCache(h) })
	return features{h, at.Heads, cache, at.state(h.Width), at.Scope}
}

// forward returns h of all tokens of every sequence, given c = a − 1 of their gates a.
func (l features) forward(b, c graph.Expr) graph.Expr { // (B·T, w), (B·T, w) → (B·T, w)
	c = l.scope.Place("decay", c)
	if l.state == nil {
		return l.read(l.of(b, c, l.shape))
	}
	batch, length := l.shape.Batch, l.shape.Context
	before := l.state.Before.In(l.scope)
	b = rows(before, b, batch) // the first token is one that replaces the state: c is −1
	c = rows(before.Scale(0).Shift(-1), c, batch)
	longer := l.shape
	longer.Context++
	h := l.of(b, c, longer)
	l.state.After = lastRows(h, batch, 1)
	return l.read(lastRows(h, batch, length).Reshape(batch*length, l.shape.Width))
}

// read names h of all tokens, and its norm √Σh² over the features of a head.
func (l features) read(h graph.Expr) graph.Expr { // (B·T, w) → (B·T, w)
	l.scope.Derive("state_norm", func() graph.Expr { // (B·T, H)
		rows, heads := l.shape.Batch*l.shape.Context, l.heads
		return h.Square().Reshape(rows*heads, l.shape.Width/heads).Sum().Sqrt().Reshape(rows, heads)
	})
	return l.scope.Place("read", h)
}

// of computes h for sequences of the shape's length.
func (l features) of(b, c graph.Expr, shape fused.ScanShape) graph.Expr {
	if h, ok := fused.Scan(b, c, shape); ok {
		return h
	}
	if shape.Average {
		b = b.Mul(c.Scale(-1))
	}
	return b.Scan(c.Shift(1), shape.Context)
}

// step is forward for new tokens, which continue from the state after those so far.
func (l features) step(b, c, at graph.Expr) graph.Expr { // (B·n, w), (B·n, w) → (B·n, w)
	return l.scope.Place("read", fused.CachedScan(b, l.scope.Place("decay", c), at, l.cache))
}

// mixing returns the number of products of a token with the state.
func (l features) mixing() float64 { return float64(l.shape.Width) }

// convolvedAfter is a layer before a short convolution.
type convolvedAfter struct {
	affine Layer
	conv   *ShortConv
	scope  graph.Scope
}

// Forward returns conv(affine(x)).
func (l convolvedAfter) Forward(x graph.Expr) graph.Expr { return l.conv.Forward(l.affine.Forward(x)) }

// Step is Forward for the newest tokens of every sequence.
func (l convolvedAfter) Step(x, at graph.Expr) graph.Expr {
	return l.conv.Step(l.affine.Forward(x), at)
}
