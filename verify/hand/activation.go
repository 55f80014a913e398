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
