package hand

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
