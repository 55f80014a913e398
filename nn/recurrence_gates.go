package nn

import (
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

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
		step := elementary.Exp(elementary.Log(0.001) + float64(rng.Float64()*elementary.Log(100)))
		return elementary.Log(elementary.Expm1(step)) // the inverse of softplus
	}, out)
	return &Linear{weight, bias, at.Scope}
}

// newRates declares a_log (H), the logarithms of rates that start in 1 … 16.
func newRates(at Site) graph.Expr {
	return at.Param("a_log",
		func(_ int, rng *rand.Rand) float64 { return elementary.Log(1 + float64(15*rng.Float64())) }, at.Heads)
}

// Forward returns −e^a ∘ softplus(x·w + b).
func (l timeDecay) Forward(x graph.Expr) graph.Expr { // (n, d) → (n, H or H·dρ)
	return decayed(l.step.Forward(x).In(l.scope), l.a)
}

// decayed returns −e^a ∘ softplus(z), for a of every head.
func decayed(z, a graph.Expr) graph.Expr { // (n, H or H·dρ), (H) → (n, H or H·dρ)
	if y, ok := fused.TimeDecay(z, a); ok {
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
