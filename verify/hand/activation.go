package hand

import "math"

// GELU is the exact Gaussian error linear unit.
//
//	y = x Φ(x),  Φ(x) = ½(1 + erf(x/√2))
type GELU[T Number] struct{}

// Forward returns x Φ(x).
func (GELU[T]) Forward(x Matrix[T]) Matrix[T] { return x.Mul(normalCDF(x)) }

// Backward returns Δ at the input x.
//
//	Δx = Δ ∘ (Φ(x) + x φ(x)),  φ(x) = e^(−x²/2)/√(2π)
func (GELU[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	density := x.Square().Scale(-0.5).Exp().Scale(1 / math.Sqrt(2*math.Pi))
	return delta.Mul(normalCDF(x).Add(x.Mul(density))), nil
}

func normalCDF[T Number](x Matrix[T]) Matrix[T] {
	return x.Scale(math.Sqrt2 / 2).Erf().Shift(1).Scale(0.5)
}

// cubic is the coefficient of x³ in the tanh form of GELU (Hendrycks and Gimpel, 2016).
const cubic = 0.044715

// GELUTanh is the tanh form of GELU that GPT-2 was trained with. It differs from the exact one by 4.7e-4 at most.
//
//	y = ½x(1 + tanh u),  u = √(2/π)(x + 0.044715 x³)
type GELUTanh[T Number] struct{}

// Forward returns ½x(1 + tanh u).
func (GELUTanh[T]) Forward(x Matrix[T]) Matrix[T] {
	return x.Mul(tanhOfCubic(x).Shift(1)).Scale(0.5)
}

// Backward returns Δ at the input x.
//
//	Δx = Δ ∘ (½(1 + t) + ½x(1 − t²) u'),  t = tanh u,  u' = √(2/π)(1 + 3·0.044715 x²)
func (GELUTanh[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	t := tanhOfCubic(x)
	du := x.Square().Scale(3 * cubic).Shift(1).Scale(math.Sqrt(2 / math.Pi)) // u'
	dt := t.Square().Scale(-1).Shift(1).Mul(x).Mul(du)                       // x(1 − t²) u'
	return delta.Mul(t.Shift(1).Add(dt).Scale(0.5)), nil
}

func tanhOfCubic[T Number](x Matrix[T]) Matrix[T] {
	return x.Mul(x.Square().Scale(cubic).Shift(1)).Scale(math.Sqrt(2 / math.Pi)).Tanh()
}

// ReLU is the rectified linear unit.
//
//	y = max(x, 0)
type ReLU[T Number] struct{}

// Forward returns max(x, 0).
func (ReLU[T]) Forward(x Matrix[T]) Matrix[T] { return x.Mul(x.Step()) }

// Backward returns Δ at the input x. The derivative at 0 is 0, as in PyTorch.
//
//	Δx = Δ ∘ 1[x > 0]
func (ReLU[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return delta.Mul(x.Step()), nil
}

// ReLU2 is the squared ReLU of So et al., "Primer: searching for efficient transformers for language modeling" (2021).
//
//	y = max(x, 0)²
type ReLU2[T Number] struct{}

// Forward returns max(x, 0)².
func (ReLU2[T]) Forward(x Matrix[T]) Matrix[T] { return x.Mul(x.Step()).Square() }

// Backward returns Δ at the input x.
//
//	Δx = Δ ∘ 2 max(x, 0)
func (ReLU2[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return delta.Mul(x.Mul(x.Step())).Scale(2), nil
}

// SoftCap keeps numbers between −c and c, as Gemma 2 does with its logits.
//
//	y = c tanh(x/c)
type SoftCap[T Number] struct{ Cap float64 }

// Forward returns c tanh(x/c).
func (l SoftCap[T]) Forward(x Matrix[T]) Matrix[T] { return l.tanh(x).Scale(l.Cap) }

// Backward returns Δ at the input x.
//
//	Δx = Δ ∘ (1 − t²),  t = tanh(x/c)
func (l SoftCap[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return delta.Mul(l.tanh(x).Square().Scale(-1).Shift(1)), nil
}

func (l SoftCap[T]) tanh(x Matrix[T]) Matrix[T] {
	if !(l.Cap > 0 && l.Cap <= math.MaxFloat64) {
		return failed[T]("a cap of %v, want a positive number", l.Cap)
	}
	return x.Scale(1 / l.Cap).Tanh()
}

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
