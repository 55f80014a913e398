package hand

// Sigmoid is the logistic function.
//
//	y = σ(x) = 1/(1 + e^(−x)) = ½(1 + tanh ½x)
//
// The last form never overflows.
//
// Backward needs e^(−x) = 1/eˣ, for 1 − σ(x) = σ(−x); the exact road draws eˣ for one of x and −x, and inverts it.
type Sigmoid[T Number] struct{}

// Forward returns σ(x).
func (Sigmoid[T]) Forward(x Matrix[T]) Matrix[T] { return sigmoid(x) }

// Backward returns Δ at the input x. With e = e^(−x), σ' = e/(1 + e)², and 1 − σ = e/(1 + e).
//
//	Δx = Δ ∘ σ(1 − σ)
func (Sigmoid[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return delta.Mul(sigmoid(x)).Mul(sigmoid(x.Scale(-1))), nil
}

func sigmoid[T Number](x Matrix[T]) Matrix[T] { return x.Scale(0.5).Tanh().Shift(1).Scale(0.5) }

// SiLU is the sigmoid linear unit of Elfwing, Uchibe and Doya, "Sigmoid-weighted linear units for neural network
// function approximation in reinforcement learning" (2017).
//
//	y = x σ(x),  σ(x) = 1/(1 + e^(−x))
type SiLU[T Number] struct{}

// Forward returns x σ(x).
func (SiLU[T]) Forward(x Matrix[T]) Matrix[T] { return x.Mul(sigmoid(x)) }

// Backward returns Δ at the input x, by the product rule and σ' = σ(1 − σ).
//
//	Δx = Δ ∘ σ(1 + x(1 − σ))
func (SiLU[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	rest := sigmoid(x).Scale(-1).Shift(1) // 1 − σ
	return delta.Mul(sigmoid(x)).Mul(x.Mul(rest).Shift(1)), nil
}

// Softplus is a smooth max(x, 0) (Dugas et al., "Incorporating second-order functional knowledge for better option
// pricing", 2001).
//
//	y = ln(1 + eˣ) = max(x, 0) + ln(1 + e^(−|x|))
//
// The last form never overflows: ln(1 + eˣ) and x + ln(1 + e^(−x)) are equal, and it is the one whose power is at most
// 1. That its derivative is σ(x) on both sides of 0 needs e^(−x) = 1/eˣ, which the exact road has as for Sigmoid.
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
