package hand

// Skip mixes an earlier place e of the residual stream into the input x of a block (Jordan et al. 2024):
//
//	y = λ₁ x + λ₂ e        (n, d), (n, d) → (n, d)
//
// From names the place: 0 is the embeddings, l > 0 the result of block l−1.
type Skip[T Number] struct {
	Lambda Matrix[T] // [λ₁, λ₂] (1, 2), or [λ₂] (1, 1) if λ₁ is 1
	From   int
}

// Forward returns λ₁ x + λ₂ e.
func (l Skip[T]) Forward(x, earlier Matrix[T]) Matrix[T] { return mixed(l.Lambda, x, earlier) }

// Backward returns Δx = λ₁ Δ and Δe = λ₂ Δ. The gradients are Δλ₁ = Σ Δ ∘ x and Δλ₂ = Σ Δ ∘ e.
func (l Skip[T]) Backward(x, earlier, delta Matrix[T]) (dx, dearlier Matrix[T], g Gradients[T]) {
	dx, dearlier, dlambda := mixedBackward(l.Lambda, x, earlier, delta)
	return dx, dearlier, gradient(l.Lambda, "skip_lambda", "λ", "Σ Δ ∘ x, Σ Δ ∘ e", dlambda)
}

// mixed returns λ₁ x + λ₂ e for λ = [λ₁, λ₂], or x + λ₂ e for λ = [λ₂].
func mixed[T Number](lambda, x, e Matrix[T]) Matrix[T] {
	if last := lambda.Cols - 1; last > 0 {
		x, lambda = x.Mul(lambda.Columns(0, last)), lambda.Columns(last, last+1)
	}
	return x.Add(e.Mul(lambda))
}

// mixedBackward returns Δ at x, at e and at λ.
func mixedBackward[T Number](lambda, x, e, delta Matrix[T]) (dx, de, dlambda Matrix[T]) {
	sum := func(x Matrix[T]) Matrix[T] { return delta.Mul(x).SumFeatures().SumTokens() }
	if lambda.Cols == 1 {
		return delta, delta.Mul(lambda), sum(e)
	}
	return delta.Mul(lambda.Columns(0, 1)), delta.Mul(lambda.Columns(1, 2)), JoinColumns(sum(x), sum(e))
}
