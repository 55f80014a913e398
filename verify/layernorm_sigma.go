package verify

// LayerNormSigmaForward has ε beside the root, Conti (4), over the features of each
// token (erratum C2).
//
//	y = x̂ ∘ w̃ + b̃,  x̂ = (x − μ)/(σ + ε)
func LayerNormSigmaForward[T Number](x, w, b Matrix[T], eps float64) Matrix[T] {
	unit, sigma := normalise(x, 0)
	return unit.Mul(sigma.Div(sigma.Shift(eps))).Mul(w).plus(b)
}

// LayerNormSigmaBackward returns Δ at the input and the gradients of w and b. With u = (x − μ)/σ,
// which is NaN for a token of equal features (erratum C3), and x̂ = (x − μ)/(σ + ε),
//
//	Δx = (g − mean g − u ∘ mean(x̂ ∘ g))/(σ + ε),  g = w̃ Δ
//	∂w = Σ x̂ ∘ Δ
//	∂b = Σ Δ
//
// since only the σ in the divisor, of derivative u/d by x, is differentiated.
func LayerNormSigmaBackward[T Number](x, w, delta Matrix[T], eps float64) (dx, dw, db Matrix[T]) {
	unit, sigma := normalise(x, 0)
	divisor := sigma.Shift(eps)          // σ + ε   (n, 1)
	norm := unit.Mul(sigma.Div(divisor)) // x̂       (n, d)
	g := delta.Mul(w)                    // w̃ Δ     (n, d)
	dx = g.Sub(g.Mean()).Sub(unit.Mul(norm.Mul(g).Mean())).Div(divisor)
	return dx, norm.Mul(delta).SumTokens(), delta.SumTokens()
}
