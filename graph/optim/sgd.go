package optim

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// SGD is stochastic gradient descent (Diab §2.5), the optimizer that AdamW improves on: for the gradient g,
//
//	m ← μm + g,  θ ← θ − η(m + λθ)
//
// Without Momentum μ it is θ ← θ − η(g + λθ) and has no state. As in AdamW the decay λ does not pass through the
// momentum.
type SGD struct {
	Momentum float64 // 0 ≤ μ < 1
}

// State returns one moment, m, unless Momentum is 0.
func (o SGD) State() (State, error) {
	moments := 0
	if o.Momentum != 0 {
		moments = 1
	}
	return State{Name: "sgd", Moments: moments}, check(fraction("momentum", o.Momentum))
}

// Step updates s.W and s.M.
func (o SGD) Step(s Step) {
	descend(o, s, s.W.F32, s.G.F32, s.M.F32)
	descend(o, s, s.W.F64, s.G.F64, s.M.F64)
}

func descend[T kernel.Float](o SGD, s Step, w, g, m []T) {
	keep, rate, momentum, scale := T(1-float64(s.Rate*s.Decay)), T(s.Rate), T(o.Momentum), T(s.Scale)
	for i, g := range g {
		if m == nil {
			w[i] = T(keep*w[i]) - T(rate*T(scale*g))
			continue
		}
		m[i] = T(momentum*normal(m[i])) + T(scale*g)
		w[i] = T(keep*w[i]) - T(rate*m[i])
	}
}

// normal returns a moment x, or 0 if it is below 2⁻⁹⁵. Otherwise, without a gradient, it would fall below the normal
// numbers, which are slow, and, rounded up again and again, stay there.
func normal[T kernel.Float](x T) T {
	if math.Abs(float64(x)) < 0x1p-95 { // without a branch on the sign, which no processor predicts
		return 0
	}
	return x
}
