package optim

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// Lion moves every entry by the same distance η, in the direction of a mean of the gradients (Chen et al. 2023): for
// the gradient g,
//
//	c = β₁m + (1−β₁)g,  θ ← θ − η(sign(c) + λθ),  m ← β₂m + (1−β₂)g
//
// As published, β₁ = 0.9 and β₂ = 0.99, with a rate 3 to 10 times smaller than AdamW's and a decay as much larger.
type Lion struct {
	Beta1, Beta2 float64 // 0 ≤ β₁, β₂ < 1
}

// State returns one moment, m.
func (o Lion) State() (State, error) {
	return State{Name: "lion", Moments: 1}, check(fraction("beta1", o.Beta1), fraction("beta2", o.Beta2))
}

// Step updates s.W and s.M.
func (o Lion) Step(s Step) {
	moveBySign(o, s, s.W.F32, s.G.F32, s.M.F32)
	moveBySign(o, s, s.W.F64, s.G.F64, s.M.F64)
}

func moveBySign[T kernel.Float](o Lion, s Step, w, g, m []T) {
	keep, rate, scale := T(1-float64(s.Rate*s.Decay)), T(s.Rate), T(s.Scale)
	beta1, beta2, rest1, rest2 := T(o.Beta1), T(o.Beta2), T(1-o.Beta1), T(1-o.Beta2)
	for i, g := range g {
		g, old := scale*g, normal(m[i])
		w[i] = T(keep*w[i]) - T(rate*sign(T(beta1*old)+T(rest1*g)))
		m[i] = T(beta2*old) + T(rest2*g)
	}
}

// sign returns 1 or −1. The sign of 0 is 0, and of NaN is NaN. Whether x is positive is no branch, because no
// processor predicts it.
func sign[T kernel.Float](x T) T {
	if x == 0 || x != x {
		return x
	}
	return T(math.Copysign(1, float64(x)))
}
