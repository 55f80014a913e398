package hand

// Smear adds to every token a share of the token before it (nanochat):
//
//	x_t ← x_t + λ s_t p_t,  s_t = σ(w·x_t[:k]),  p_t = x_{t−1}       (n, d)
//
// The first token of a sequence has no token before it, p = 0.
type Smear[T Number] struct {
	Weight Matrix[T] // w (1, k)
	Lambda Matrix[T] // λ (1, 1)
	Length int       // of a sequence
	Before Matrix[T] // the token before each sequence, a constant; zeros if it is the zero Matrix  (B, d)
}

// previous is the convolution x_{t−1}.
func (l Smear[T]) previous(x Matrix[T]) ShortConv[T] {
	if x = x.sound(); x.Err != nil {
		return ShortConv[T]{Weight: x}
	}
	one := Zeros[T](1, x.Cols)
	return ShortConv[T]{Join(one, one.Shift(1)), l.Length, l.Before}
}

// parts returns the first k features of x, p and s.
func (l Smear[T]) parts(x Matrix[T]) (first, p, s Matrix[T]) {
	first = x.Columns(0, l.Weight.Cols)
	return first, l.previous(x).Forward(x), sigmoid(first.Mul(l.Weight).Sum())
}

// Forward returns x_t + λ s_t p_t.
func (l Smear[T]) Forward(_ []int, x Matrix[T]) Matrix[T] {
	_, p, s := l.parts(x)
	return within("smear", x, x.Add(p.Mul(s).Mul(l.Lambda)))
}

// Backward returns Δ at x and the gradients of w and λ, with u_t = λ s_t (1 − s_t) (Δ_t·p_t):
//
//	Δx_t = Δ_t + λ s_{t+1} Δ_{t+1},  Δx_t[:k] += u_t w
//	∂w = Σ u_t x_t[:k],  ∂λ = Σ s_t (Δ_t·p_t)
func (l Smear[T]) Backward(_ []int, x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	first, p, s := l.parts(x)
	later, _ := l.previous(x).Backward(x, delta.Mul(s).Mul(l.Lambda))
	along := delta.Mul(p).Sum()
	u := along.Mul(s).Mul(s.Scale(-1).Shift(1)).Mul(l.Lambda)
	inner := u.MatMul(l.Weight) // (n, k)
	dx = delta.Add(later)
	if l.Weight.Cols < x.Cols {
		inner = Join(inner, dx.Columns(l.Weight.Cols, x.Cols).Scale(0))
	}
	g = gradient(l.Weight, "weight", "w", "Σ u_t x_t[:k]", first.Mul(u).SumTokens())
	g = append(g, gradient(l.Lambda, "lambda", "λ", "Σ s_t (Δ_t·p_t)", s.Mul(along).SumTokens())...)
	return within("smear", x, dx.Add(inner)), g.In("smear", "_s")
}
