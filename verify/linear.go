package verify

// LinearForward is the fully connected layer, bias optional.
//
//	y = xw + b̃             (n, in) → (n, out)   (4)
func LinearForward[T Number](x, w, b Matrix[T]) Matrix[T] {
	return x.MatMul(w).plus(b)
}

// LinearBackward returns Δ at the input and the gradients of w and b.
//
//	Δx = Δ wᵗ              (n, in)
//	∂w = xᵗ Δ              (in, out)
//	∂b = Σ_tokens Δ        (1, out)
func LinearBackward[T Number](x, w, delta Matrix[T]) (dx, dw, db Matrix[T]) {
	dx = delta.MatMul(w.Transpose())
	dw = x.Transpose().MatMul(delta)
	db = delta.SumTokens()
	return dx, dw, db
}
