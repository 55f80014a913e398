package verify

// TaylorFeaturesForward is φ(x) = [1, x̂], x̂ = x/√(‖x‖² + ε), so that φ(q)·φ(k) = 1 + q̂·k̂, the first two terms of e^(q̂·k̂),
// is not negative (E. Conti, section 2.1.2; erratum C5).
//
//	(n, dρ) → (n, 1+dρ)
func TaylorFeaturesForward[T Number](x Matrix[T], eps float64) Matrix[T] {
	hat := x.Div(x.Square().SumFeatures().Shift(eps).Sqrt())
	return JoinColumns(Zeros[T](x.Rows, 1).Shift(1), hat)
}

// TaylorFeaturesBackward drops what came for the 1, and takes from the rest its part along x̂: that would only change the
// length.
//
//	Δx = (Δx̂ − x̂ (x̂ ⊖ Δx̂))/√(‖x‖² + ε)
func TaylorFeaturesBackward[T Number](x Matrix[T], eps float64, delta Matrix[T]) Matrix[T] {
	length := x.Square().SumFeatures().Shift(eps).Sqrt()
	hat, dhat := x.Div(length), delta.Columns(1, delta.Cols)
	return dhat.Sub(hat.Mul(hat.Mul(dhat).SumFeatures())).Div(length)
}
