package verify

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
