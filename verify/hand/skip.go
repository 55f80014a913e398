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

// valueResidual mixes the values of an attention with those of the first block (Zhou et al. 2024):
//
//	v_l ← λ₁ v_l + λ₂ v_0    (n, G·dh)
//
// The first block has no Lambda. Its Forward keeps v_0 for the blocks after it, and its Backward adds Δ at v_0 from
// those blocks, whose Backward comes before.
type valueResidual[T Number] struct {
	Lambda Matrix[T] // [λ₁, λ₂] (1, 2); the zero Matrix in the first block
	Shared *FirstValues[T]
}

// FirstValues holds v_0 and Δ at v_0 for the blocks of a model.
type FirstValues[T Number] struct{ v, delta Matrix[T] }

// Forward returns the values in place of v.
func (r valueResidual[T]) Forward(v Matrix[T]) Matrix[T] {
	switch {
	case r.Shared == nil:
		return failed[T]("factors of values without the values of the first block")
	case r.Lambda.None():
		r.Shared.v = v
		return v
	}
	return mixed(r.Lambda, v, r.Shared.v)
}

// Backward returns Δ at v, and the gradients Δλ₁ = Σ Δ ∘ v_l and Δλ₂ = Σ Δ ∘ v_0.
func (r valueResidual[T]) Backward(v, delta Matrix[T]) (dv Matrix[T], g Gradients[T]) {
	switch {
	case r.Shared == nil:
		return r.Forward(v), nil
	case r.Lambda.None():
		dv, r.Shared.delta = sumOf(r.Shared.delta, delta), Matrix[T]{}
		return dv, nil
	}
	dv, through, dlambda := mixedBackward(r.Lambda, v, r.Shared.v, delta)
	r.Shared.delta = sumOf(r.Shared.delta, through)
	return dv, gradient(r.Lambda, "v_lambda", "λ", "Σ Δ_v ∘ v, Σ Δ_v ∘ v₀", dlambda)
}

// firstValues returns the link that mixes values by at.v_lambda, in a model whose blocks share those of the first.
func (at Site[T]) firstValues() (c Chain[T]) {
	if l := (valueResidual[T]{at.Optional("v_lambda"), at.Values}); l.Shared != nil || !l.Lambda.None() {
		c = append(c, Apply[T]{From: "v", To: "v", Layer: l})
	}
	return c
}
