package verify

// MLP holds the parameters of the feed-forward layer, biases optional:
// expansion (d, f), contraction (f, d).
type MLP[T Number] struct {
	W1, B1, W2, B2 Matrix[T]
}

// MLPForward expands, bends and contracts the features of each token.
//
//	y = g(x w₁ + b₁) w₂ + b₂    (n, d)          rows a₇ to a₉ of Table 2
func MLPForward[T Number](x Matrix[T], p MLP[T], g Activation) Matrix[T] {
	hidden := LinearForward(x, p.W1, p.B1)                         // a₇       (n, f)
	return LinearForward(ActivationForward(g, hidden), p.W2, p.B2) // a₉       (n, d)
}

// MLPBackward returns Δ at the input and the gradients of the parameters, by rows
// Δ₈ to Δ₆ of Table 2.
func MLPBackward[T Number](x Matrix[T], p MLP[T], g Activation, delta Matrix[T]) (dx Matrix[T], dp MLP[T]) {
	hidden := LinearForward(x, p.W1, p.B1)
	var bent Matrix[T]
	bent, dp.W2, dp.B2 = LinearBackward(ActivationForward(g, hidden), p.W2, delta)  // Δ₈  (n, f)
	dx, dp.W1, dp.B1 = LinearBackward(x, p.W1, ActivationBackward(g, hidden, bent)) // Δ₆  (n, d)
	return dx, dp
}
