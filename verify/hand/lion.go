package hand

// Lion holds the numbers of the optimizer: the rate η, the β of the direction and of the moment, and the decay λ.
type Lion struct {
	Rate, Beta1, Beta2, Decay float64
}

// LionUpdate returns the update of a parameter w by its gradient g (Chen et al. 2023, program 1). m is the result of
// the previous step, zeros for the first.
//
//	c = β₁m + (1 − β₁)g
//	w ← w − η(sign c + λw)
//	m ← β₂m + (1 − β₂)g
//
// The sign of 0 is 0. The decay does not pass through m.
func LionUpdate[T Number](o Lion, w, g, m Matrix[T]) (w1, m1 Matrix[T]) {
	c := m.Scale(o.Beta1).Add(g.Scale(1 - o.Beta1))
	sign := c.Step().Sub(c.Scale(-1).Step())
	m1 = m.Scale(o.Beta2).Add(g.Scale(1 - o.Beta2))
	return w.Sub(sign.Add(w.Scale(o.Decay)).Scale(o.Rate)), m1
}
