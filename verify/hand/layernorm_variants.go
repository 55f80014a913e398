package hand

// LayerNormSigma is a LayerNorm with ε outside the root, Conti (4), over the features of each token (erratum C2).
//
//	y = x̂ ∘ w̃ + b̃,  x̂ = (x − μ)/(σ + ε)
type LayerNormSigma[T Number] struct {
	Weight, Bias Matrix[T] // w̃, b̃  (1, d)
	Eps          float64
}

// Forward returns x̂ ∘ w̃ + b̃.
func (l LayerNormSigma[T]) Forward(x Matrix[T]) Matrix[T] {
	unit, sigma := normalise(x, 0)
	return unit.Mul(sigma.Div(sigma.Shift(l.Eps))).Mul(l.Weight).plus(l.Bias)
}

// Backward returns Δ at the input and the gradients of w and b. With u = (x − μ)/σ, which is NaN for a token of equal
// features (erratum C3), and x̂ = (x − μ)/(σ + ε),
//
//	Δx = (g − mean g − u ∘ mean(x̂ ∘ g))/(σ + ε),  g = w̃ Δ
//	∂w = Σ x̂ ∘ Δ
//	∂b = Σ Δ
//
// since only the σ in the divisor, of derivative u/d by x, is differentiated.
func (l LayerNormSigma[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	unit, sigma := normalise(x, 0)
	divisor := sigma.Shift(l.Eps)        // σ + ε   (n, 1)
	norm := unit.Mul(sigma.Div(divisor)) // x̂       (n, d)
	dnorm := delta.Mul(l.Weight)         // w̃ Δ     (n, d)
	dx = dnorm.Sub(dnorm.Mean()).Sub(unit.Mul(norm.Mul(dnorm).Mean())).Div(divisor)
	dw, db := norm.Mul(delta).SumTokens(), delta.SumTokens()
	return dx, append(gradient(l.Weight, "weight", "w", "(41)", dw), gradient(l.Bias, "bias", "b", "(42)", db)...)
}

// LayerNormSigma returns the layer whose parameters are at.weight and at.bias.
func (at Site[T]) LayerNormSigma() Layer[T] {
	return LayerNormSigma[T]{at.Param("weight"), at.Optional("bias"), at.Eps}
}

// LayerNormPlain is LayerNorm without gain and bias, CS 224n (27), (28); the note has no ε (erratum S7).
//
//	y = (x − μ)/σ                  (n, d)
type LayerNormPlain[T Number] struct{ Eps float64 }

// Forward returns (x − μ)/σ.
func (l LayerNormPlain[T]) Forward(x Matrix[T]) Matrix[T] {
	norm, _ := normalise(x, l.Eps)
	return norm
}

// Backward returns Δ at the input: LayerNorm's for a gain of 1.
//
//	Δx = (Δ − mean Δ − ā ∘ mean(ā ∘ Δ))/σ
func (l LayerNormPlain[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	norm, sigma := normalise(x, l.Eps)
	return delta.Sub(delta.Mean()).Sub(norm.Mul(norm.Mul(delta).Mean())).Div(sigma), nil
}

// LayerNormPlain returns the layer, which has no parameters.
func (at Site[T]) LayerNormPlain() Layer[T] { return LayerNormPlain[T]{at.Eps} }
