package optim

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// AdamW is the optimizer of Diab §2.5 with the bias corrections that it leaves out (errata D10): in step t, counted
// from 1, and for the gradient g,
//
//	m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  θ ← θ − η(m̂/(√v̂ + ε) + λθ),  m̂ = m/(1−β₁ᵗ),  v̂ = v/(1−β₂ᵗ)
//
// As published, β₁ = 0.9 and β₂ = 0.999. Gorgonia's own AdamW never writes the decayed weight back.
type AdamW struct {
	Beta1, Beta2 float64 // 0 ≤ β₁, β₂ < 1
	Eps          float64 // ε > 0; 0 means 1e-8
}

// State returns two moments, m and v.
func (o AdamW) State() (State, error) {
	return State{Name: "adamw", Moments: 2},
		check(fraction("beta1", o.Beta1), fraction("beta2", o.Beta2), notNegative("eps", o.Eps))
}

// Step updates s.W, s.M and s.V.
func (o AdamW) Step(s Step) {
	k := kernel.AdamW{LR: s.Rate, Beta1: o.Beta1, Beta2: o.Beta2, Eps: cmp.Or(o.Eps, 1e-8), Decay: s.Decay}
	kernel.Update(k, s.T, s.Scale, s.W.F32, s.G.F32, s.M.F32, s.V.F32)
	kernel.Update(k, s.T, s.Scale, s.W.F64, s.G.F64, s.M.F64, s.V.F64)
}
