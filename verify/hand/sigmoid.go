package hand

// Sigmoid is the logistic function.
//
//	y = σ(x) = 1/(1 + e^(−x)) = ½(1 + tanh ½x)
//
// The last form never overflows.
type Sigmoid[T Number] struct{}

// Forward returns σ(x).
func (Sigmoid[T]) Forward(x Matrix[T]) Matrix[T] { return sigmoid(x) }

// Backward returns Δ at the input x. With e = e^(−x), σ' = e/(1 + e)², and 1 − σ = e/(1 + e).
//
//	Δx = Δ ∘ σ(1 − σ)
func (Sigmoid[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return delta.Mul(sigmoid(x)).Mul(sigmoid(x.Scale(-1))), nil
}

func sigmoid[T Number](x Matrix[T]) Matrix[T] { return x.Scale(0.5).Tanh().Shift(1).Scale(0.5) }
