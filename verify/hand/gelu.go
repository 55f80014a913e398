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
