package hand

// BinaryCrossEntropy scores logits z against labels y, entry by entry. A label is 0, 1 or a probability in between.
//
//	L = Σ (−y ln σ(z) − (1 − y) ln(1 − σ(z)))/N, N entries     (1, 1)
//
// With −ln σ(z) = ln(1 + e^(−z)) = softplus(z) − z and −ln(1 − σ(z)) = softplus(z), an entry is softplus(z) − z y. Its
// derivative needs e^(−z) = 1/e^z, as that of Softplus does.
type BinaryCrossEntropy[T Number] struct{ Y Matrix[T] }

// Forward returns L.
func (l BinaryCrossEntropy[T]) Forward(z Matrix[T]) Matrix[T] {
	return softplus(z).Sub(z.Mul(l.Y)).SumTokens().Mean().Scale(1 / float64(z.Rows))
}

// Backward returns Δ at z and the gradient of y; the derivative of softplus is σ.
//
//	Δz = (σ(z) − y)/N                              (n, d)
//	∂y = −z/N                                      (n, d)
func (l BinaryCrossEntropy[T]) Backward(z, delta Matrix[T]) (dz Matrix[T], g Gradients[T]) {
	share := delta.Scale(1 / float64(z.Rows*z.Cols)) // Δ/N
	return sigmoid(z).Sub(l.Y).Mul(share), gradient(l.Y, "y", "y", "−z/N", z.Scale(-1).Mul(share))
}

// SquaredError is the mean of the squared differences from y.
//
//	L = Σ (x − y)²/N, N entries                    (1, 1)
type SquaredError[T Number] struct{ Y Matrix[T] }

// Forward returns L.
func (l SquaredError[T]) Forward(x Matrix[T]) Matrix[T] {
	return x.Sub(l.Y).Square().SumTokens().Mean().Scale(1 / float64(x.Rows))
}

// Backward returns Δ at x and the gradient of y, by the chain rule.
//
//	Δx = 2(x − y)/N                                (n, d)
//	∂y = −Δx                                       (n, d)
func (l SquaredError[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	dx = x.Sub(l.Y).Scale(2 / float64(x.Rows*x.Cols)).Mul(delta)
	return dx, gradient(l.Y, "y", "y", "−2(x − y)/N", dx.Scale(-1))
}
