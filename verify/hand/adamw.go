package hand

import (
	"fmt"
	"math"
)

// AdamW holds the numbers of the optimizer: the rate η, the β of the two moments, ε and the decay λ.
type AdamW struct {
	Rate, Beta1, Beta2, Eps, Decay float64
}

// AdamWUpdate returns the update of a parameter w by its gradient g (Kingma and Ba, 2014; Loshchilov and Hutter, 2017).
// t counts the steps from 1. m and v are the results of the previous step, zeros for the first.
//
//	m ← β₁m + (1 − β₁)g
//	v ← β₂v + (1 − β₂)g∘g
//	w ← w − η(m̂/(√v̂ + ε) + λw),  m̂ = m/(1 − β₁ᵗ),  v̂ = v/(1 − β₂ᵗ)
//
// S. Diab prints the last line in section 2.5 and does not define m̂ and v̂ (erratum D10). ε stands outside the root,
// and the decay does not pass through the moments.
func AdamWUpdate[T Number](c AdamW, t int, w, g, m, v Matrix[T]) (w1, m1, v1 Matrix[T]) {
	if t < 1 {
		w.Err = fmt.Errorf("hand: adamw: step %d, want 1 or more", t)
		return w, w, w
	}
	m1 = m.Scale(c.Beta1).Add(g.Scale(1 - c.Beta1))                  // m
	v1 = v.Scale(c.Beta2).Add(g.Square().Scale(1 - c.Beta2))         // v
	mhat := m1.Scale(1 / (1 - math.Pow(c.Beta1, float64(t))))        // m̂
	vhat := v1.Scale(1 / (1 - math.Pow(c.Beta2, float64(t))))        // v̂
	step := mhat.Div(vhat.Sqrt().Shift(c.Eps)).Add(w.Scale(c.Decay)) // m̂/(√v̂ + ε) + λw
	return w.Sub(step.Scale(c.Rate)), m1, v1
}
