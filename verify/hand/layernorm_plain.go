package hand

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
