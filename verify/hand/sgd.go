package hand

// SGD holds the numbers of stochastic gradient descent: the rate η, the momentum μ and the decay λ.
type SGD struct {
	Rate, Momentum, Decay float64
}

// SGDUpdate returns the update of a parameter w by its gradient g. m is the result of the previous step, zeros for the
// first.
//
//	m ← μm + g
//	w ← w − η(m + λw)
//
// Without momentum, w becomes w(1 − ηλ) − ηg. Like AdamW's, the decay does not pass through m.
func SGDUpdate[T Number](c SGD, w, g, m Matrix[T]) (w1, m1 Matrix[T]) {
	m1 = m.Scale(c.Momentum).Add(g)
	return w.Sub(m1.Add(w.Scale(c.Decay)).Scale(c.Rate)), m1
}
