package hand

// ReLU is the rectified linear unit.
//
//	y = max(x, 0)
type ReLU[T Number] struct{}

// Forward returns max(x, 0).
func (ReLU[T]) Forward(x Matrix[T]) Matrix[T] { return x.Mul(x.Step()) }

// Backward returns Δ at the input x. The derivative at 0 is 0, as in PyTorch.
//
//	Δx = Δ ∘ 1[x > 0]
func (ReLU[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return delta.Mul(x.Step()), nil
}
