package hand

// TaylorFeatures is φ(x) = [1, x̂], x̂ = x/√(‖x‖² + ε), so that φ(q)·φ(k) = 1 + q̂·k̂, the first two terms of
// e^(q̂·k̂), is not negative (E. Conti, section 2.1.2; erratum C5).
//
//	(n, dρ) → (n, 1+dρ)
type TaylorFeatures[T Number] struct{ Eps float64 }

// Forward returns [1, x̂].
func (l TaylorFeatures[T]) Forward(x Matrix[T]) Matrix[T] {
	hat := x.Div(x.Square().SumFeatures().Shift(l.Eps).Sqrt())
	return JoinColumns(Zeros[T](hat.Rows, 1).Shift(1), hat)
}

// Backward drops the Δ of the 1. From the rest it subtracts the part along x̂, which would only change the length.
//
//	Δx = (Δx̂ − x̂ (x̂ ⊖ Δx̂))/√(‖x‖² + ε)
func (l TaylorFeatures[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	length := x.Square().SumFeatures().Shift(l.Eps).Sqrt()
	hat, dhat := x.Div(length), delta.Columns(1, delta.Cols)
	return dhat.Sub(hat.Mul(hat.Mul(dhat).SumFeatures())).Div(length), nil
}
