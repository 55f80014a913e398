package hand

// SiLU is the sigmoid linear unit of Elfwing, Uchibe and Doya, "Sigmoid-weighted linear units for neural network
// function approximation in reinforcement learning" (2017).
//
//	y = x σ(x),  σ(x) = 1/(1 + e^(−x))
type SiLU[T Number] struct{}

// Forward returns x σ(x).
func (SiLU[T]) Forward(x Matrix[T]) Matrix[T] { return x.Mul(sigmoid(x)) }

// Backward returns Δ at the input x, by the product rule and σ' = σ(1 − σ).
//
//	Δx = Δ ∘ σ(1 + x(1 − σ))
func (SiLU[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	rest := sigmoid(x).Scale(-1).Shift(1) // 1 − σ
	return delta.Mul(sigmoid(x)).Mul(x.Mul(rest).Shift(1)), nil
}
