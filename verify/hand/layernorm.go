package hand

// LayerNorm normalises the features of each token and applies a gain and an optional bias.
//
//	y = ā ∘ w̃ + b̃,  ā = (x − μ̃)/σ̃,  σ² = variance over the features + ε
//
// The paper has ε = 0, which makes a token of equal features a division by zero (erratum B5b). The variance is the
// population's (÷ d).
type LayerNorm[T Number] struct {
	Weight, Bias Matrix[T] // w̃, b̃  (1, d)
	Eps          float64
}

// Forward computes (38).
func (l LayerNorm[T]) Forward(x Matrix[T]) Matrix[T] {
	norm, _ := normalise(x, l.Eps)         // ā          (n, d)   (36)
	return norm.Mul(l.Weight).plus(l.Bias) // ā ∘ w̃ + b̃  (n, d)   (38)
}

// Backward returns Δ at the input and the gradients of w and b. The paper's (40) writes g as w̃Δᵗ, features down, and
// 1/(dσ̃) outside the transpose: one division per token (erratum B5).
func (l LayerNorm[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	norm, sigma := normalise(x, l.Eps)
	dnorm := delta.Mul(l.Weight)                                                  // w̃ Δ        (n, d)
	dx = dnorm.Sub(dnorm.Mean()).Sub(norm.Mul(norm.Mul(dnorm).Mean())).Div(sigma) //            (n, d)   (40)
	dw := norm.Mul(delta).SumTokens()                                             // diag(āᵗΔ)  (1, d)   (41)
	db := delta.SumTokens()                                                       // Σ Δ        (1, d)   (42)
	return dx, append(gradient(l.Weight, "weight", "w", "(41)", dw), gradient(l.Bias, "bias", "b", "(42)", db)...)
}

func normalise[T Number](x Matrix[T], eps float64) (norm, sigma Matrix[T]) {
	centred := x.Sub(x.Mean())                        // x − μ̃      (n, d)
	sigma = centred.Square().Mean().Shift(eps).Sqrt() // σ          (n, 1)
	return centred.Div(sigma), sigma
}

// LayerNorm returns the layer whose parameters are at.weight and at.bias.
func (at Site[T]) LayerNorm() Layer[T] {
	return LayerNorm[T]{at.Param("weight"), at.Optional("bias"), at.Eps}
}
