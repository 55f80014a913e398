package hand

// valueResidual mixes the values of an attention with the values of the first block (Zhou et al. 2024):
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

// firstValues returns the link that mixes values by at.v_lambda, in a model whose blocks share the first one's values.
func (at Site[T]) firstValues() (c Chain[T]) {
	if l := (valueResidual[T]{at.Optional("v_lambda"), at.Values}); l.Shared != nil || !l.Lambda.None() {
		c = append(c, Apply[T]{From: "v", To: "v", Layer: l})
	}
	return c
}
