package hand

// RMSNorm divides the features of each token by the root of the mean of their squares and applies a gain (Zhang and
// Sennrich, "Root mean square layer normalization", 2019).
//
//	y = x̂ ∘ w̃,  x̂ = x/rms,  rms² = mean(x²) + ε
type RMSNorm[T Number] struct {
	Weight Matrix[T] // w̃  (1, d)
	Eps    float64
}

// Forward returns x̂ ∘ w̃.
func (l RMSNorm[T]) Forward(x Matrix[T]) Matrix[T] { return x.Div(l.rms(x)).Mul(l.Weight) }

func (l RMSNorm[T]) rms(x Matrix[T]) Matrix[T] { return x.Square().Mean().Shift(l.Eps).Sqrt() } // (n, 1)

// Backward returns Δ at the input and the gradient of w. Since rms has the derivative x̂/d by x,
//
//	Δx = (g − x̂ ∘ mean(g ∘ x̂))/rms,  g = w̃ Δ
//	∂w = Σ x̂ ∘ Δ
func (l RMSNorm[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	rms := l.rms(x)
	norm := x.Div(rms)           // x̂    (n, d)
	dnorm := delta.Mul(l.Weight) // w̃ Δ  (n, d)
	dx = dnorm.Sub(norm.Mul(dnorm.Mul(norm).Mean())).Div(rms)
	return dx, gradient(l.Weight, "weight", "w", "Σ x̂ ∘ Δ", norm.Mul(delta).SumTokens())
}

// RMSNorm returns the layer whose parameter is at.weight.
func (at Site[T]) RMSNorm() Layer[T] { return RMSNorm[T]{at.Param("weight"), at.Eps} }
