package optim

import (
	"cmp"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// ScheduleFree is AdamW with an average of its weights instead of a decaying learning rate (Defazio et al. 2024,
// arXiv:2405.15682, algorithm 1). For the gradient g at the weights y, in step t,
//
//	v ← β₂v + (1−β₂)g²,  z ← z − η(g/(√v̂ + ε) + λy),  v̂ = v/(1−β₂ᵗ)
//	x ← (1−c)x + cz,  c = w_t/(w_1 + … + w_t),  w_i = min(1, i/(W+1))²
//	y ← (1−β₁)z + β₁x
//
// A model is trained at y and evaluated at x. x is no moment, because it also is a moving average of y: Share. As
// published, β₁ = 0.9, and the rate stays constant after W steps of warm-up. w_i is then the square of the rate, as in
// the paper, where c has the correction of v as a further factor. The first weights are y = z = x.
type ScheduleFree struct {
	Beta1, Beta2 float64 // 0 ≤ β₁, β₂ < 1; β₁ = 0 means 0.9
	Eps          float64 // ε > 0; 0 means 1e-8
	Warmup       int     // W ≥ 0
}

// Averaging is a Rule whose models are evaluated and saved with the averages x of their weights w. Before the first
// step x is w, and after step t, x ← x + Share(t)·(w − x).
type Averaging interface {
	Rule
	Share(t int) float64
}

// State returns two moments: m, which holds z, and v.
func (o ScheduleFree) State() (State, error) {
	return State{Name: "schedule_free", Moments: 2}, check(fraction("beta1", o.Beta1), fraction("beta2", o.Beta2),
		notNegative("eps", o.Eps), notNegative("warmup", float64(o.Warmup)))
}

// Step updates s.W, s.M and s.V.
func (o ScheduleFree) Step(s Step) {
	interpolate(o, s, s.W.F32, s.G.F32, s.M.F32, s.V.F32)
	interpolate(o, s, s.W.F64, s.G.F64, s.M.F64, s.V.F64)
}

func interpolate[T kernel.Float](o ScheduleFree, s Step, y, g, z, v []T) {
	if s.T == 1 {
		copy(z, y)
	}
	c, beta1 := o.weight(s.T), cmp.Or(o.Beta1, 0.9)
	old, share, keepZ := T(1-c), T(1-beta1+float64(beta1*c)), T(1-beta1)
	rate, decay, scale, eps := T(s.Rate), T(s.Rate*s.Decay), T(s.Scale), T(cmp.Or(o.Eps, 1e-8))
	beta2, rest, root := T(o.Beta2), T(1-o.Beta2), T(1/math.Sqrt(1-elementary.Pow(o.Beta2, float64(s.T))))
	for i, g := range g {
		g *= scale
		v[i] = T(beta2*v[i]) + T(rest*g*g)
		x := y[i] - T(keepZ*z[i]) // β₁x
		z[i] -= T(rate*g)/(T(T(math.Sqrt(float64(v[i])))*root)+eps) + T(decay*y[i])
		y[i] = T(old*x) + T(share*z[i])
	}
}

// weight returns c of step t, from 1.
func (o ScheduleFree) weight(t int) float64 {
	squares := func(n float64) float64 { return n * (n + 1) * (2*n + 1) / 6 } // 1² + … + n²
	n, full := float64(t), float64(o.Warmup)+1
	if n <= full {
		return n * n / squares(n)
	}
	return 1 / (squares(full)/(full*full) + n - full)
}

// Share returns the share of y in x. Of z = (y − β₁x)/(1−β₁) for the new x, the update of x is
// x ← x + s(y − x) with s = c/(1−β₁+β₁c).
func (o ScheduleFree) Share(t int) float64 {
	c, beta1 := o.weight(t), cmp.Or(o.Beta1, 0.9)
	return c / (1 - beta1 + float64(beta1*c))
}
