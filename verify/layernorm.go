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

// LayerNormPlainForward is LayerNorm without gain and shift, CS 224n (27), (28); the note
// has no ε (erratum S7).
//
//	y = (x − μ)/σ                  (n, d)
func LayerNormPlainForward[T Number](x Matrix[T], eps float64) Matrix[T] {
	norm, _ := normalise(x, eps)
	return norm
}

// LayerNormPlainBackward returns Δ at the input: LayerNorm's for a gain of 1.
//
//	Δx = (Δ − mean Δ − ā ∘ mean(ā ∘ Δ))/σ
func LayerNormPlainBackward[T Number](x, delta Matrix[T], eps float64) (dx Matrix[T]) {
	norm, sigma := normalise(x, eps)
	return delta.Sub(delta.Mean()).Sub(norm.Mul(norm.Mul(delta).Mean())).Div(sigma)
}

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

func normalise[T Number](x Matrix[T], eps float64) (norm, sigma Matrix[T]) {
	centred := x.Sub(x.Mean())                        // x − μ̃      (n, d)
	sigma = centred.Square().Mean().Shift(eps).Sqrt() // σ          (n, 1)
	return centred.Div(sigma), sigma
}
