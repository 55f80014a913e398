package kernel

// SGD is one update of stochastic gradient descent with decoupled weight decay: with the clipped gradient g = scale·dw,
// m ← momentum·m + g, w ← w − lr·(m + decay·w). Without momentum m is nil and stands for g.
type SGD struct{ LR, Momentum, Decay float64 }

// Descend applies a step to w and m in place.
func Descend[T Float](p *Pool, o SGD, scale float64, w, dw, m []T) {
	keep, rate, momentum, s := T(1-o.LR*o.Decay), T(o.LR), T(o.Momentum), T(scale)
	p.Range(len(w), grain, func(from, to int) {
		w, dw := w[from:to], dw[from:to]
		if m == nil {
			for i, g := range dw {
				w[i] = keep*w[i] - rate*(s*g)
			}
			return
		}
		m := m[from:to]
		for i, g := range dw {
			m[i] = momentum*m[i] + s*g
			w[i] = keep*w[i] - rate*m[i]
		}
	})
}
