package hand

import "math"

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
