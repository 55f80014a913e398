package hand

// DyT is the dynamic tanh (Zhu et al. 2025), a norm without statistics.
//
//	y = w̃ ∘ t + b̃,  t = tanh(αx)
type DyT[T Number] struct {
	Alpha        Matrix[T] // α  (1, 1)
	Weight, Bias Matrix[T] // w̃, b̃  (1, d)
}

// Forward returns w̃ ∘ t + b̃.
func (l DyT[T]) Forward(x Matrix[T]) Matrix[T] { return l.squeeze(x).Mul(l.Weight).plus(l.Bias) }

func (l DyT[T]) squeeze(x Matrix[T]) Matrix[T] { return x.Mul(l.Alpha).Tanh() } // t  (n, d)

// Backward returns Δ at the input and the gradients of α, w and b. With s = w̃ ∘ Δ ∘ (1 − t²), the Δ at αx:
//
//	Δx = αs,  ∂L/∂α = Σ x ∘ s over tokens and features,  ∂L/∂w̃ = Σ t ∘ Δ,  ∂L/∂b̃ = Σ Δ
func (l DyT[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	t := l.squeeze(x)
	s := delta.Mul(l.Weight).Mul(t.Square().Scale(-1).Shift(1)) // w̃ ∘ Δ ∘ (1 − t²)  (n, d)
	da := x.Mul(s).SumTokens().Sum()                            // Σ x ∘ s           (1, 1)
	g = append(gradient(l.Alpha, "alpha", "α", "Σ x ∘ s", da), gradient(l.Weight, "weight", "w", "Σ t ∘ Δ",
		t.Mul(delta).SumTokens())...)
	return s.Mul(l.Alpha), append(g, gradient(l.Bias, "bias", "b", "Σ Δ", delta.SumTokens())...)
}

// DyT returns the layer whose parameters are at.alpha, at.weight and at.bias.
func (at Site[T]) DyT() Layer[T] {
	return DyT[T]{at.Param("alpha"), at.Param("weight"), at.Optional("bias")}
}
