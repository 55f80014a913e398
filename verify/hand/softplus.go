package hand

// Softplus is a smooth max(x, 0) (Dugas et al., "Incorporating second-order functional knowledge for better option
// pricing", 2001).
//
//	y = ln(1 + eˣ) = max(x, 0) + ln(1 + e^(−|x|))
//
// The last form never overflows: ln(1 + eˣ) and x + ln(1 + e^(−x)) are equal, and it is the one whose power is at most
// 1.
type Softplus[T Number] struct{}

// Forward returns ln(1 + eˣ).
func (Softplus[T]) Forward(x Matrix[T]) Matrix[T] { return softplus(x) }

// Backward returns Δ at the input x: the derivative is eˣ/(1 + eˣ).
//
//	Δx = Δ ∘ σ(x)
func (Softplus[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return delta.Mul(sigmoid(x)), nil
}

func softplus[T Number](x Matrix[T]) Matrix[T] {
	top := x.Mul(x.Step())                                   // max(x, 0)
	return x.Sub(top.Scale(2)).Exp().Shift(1).Log().Add(top) // −|x| = x − 2 max(x, 0)
}
