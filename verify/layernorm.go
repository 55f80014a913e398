package verify

// LayerNormForward normalises the features of each token and gives them a gain
// and a bias (optional).
//
//	y = ā ∘ w̃ + b̃,  ā = (x − μ̃)/σ̃,  σ² = variance over the features + ε
//
// The paper has ε = 0, for which a token of equal features is a division by
// zero (erratum B5b); the variance is that of the population (÷ d).
func LayerNormForward[T Number](x, w, b Matrix[T], eps float64) Matrix[T] {
	norm, _ := normalise(x, eps) // ā          (n, d)   (36)
	return norm.Mul(w).plus(b)   // ā ∘ w̃ + b̃  (n, d)   (38)
}

// LayerNormBackward returns Δ at the input and the gradients of w and b. The paper's
// (40) writes g as w̃Δᵗ, features down, and 1/(dσ̃) outside the transpose: one
// division per token (erratum B5).
func LayerNormBackward[T Number](x, w, delta Matrix[T], eps float64) (dx, dw, db Matrix[T]) {
	norm, sigma := normalise(x, eps)
	g := delta.Mul(w)                                                 // w̃ Δ        (n, d)
	dx = g.Sub(g.Mean()).Sub(norm.Mul(norm.Mul(g).Mean())).Div(sigma) //         (n, d)   (40)
	dw = norm.Mul(delta).SumTokens()                                  // diag(āᵗΔ)  (1, d)   (41)
	db = delta.SumTokens()                                            // Σ Δ        (1, d)   (42)
	return dx, dw, db
}

func normalise[T Number](x Matrix[T], eps float64) (norm, sigma Matrix[T]) {
	centred := x.Sub(x.Mean())                        // x − μ̃      (n, d)
	sigma = centred.Square().Mean().Shift(eps).Sqrt() // σ          (n, 1)
	return centred.Div(sigma), sigma
}
