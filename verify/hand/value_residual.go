package hand

// ValueResidual mixes the values of an attention with those of the first block (Zhou et al. 2024):
//
//	v_l ← λ₁ v_l + λ₂ v_0    (n, G·dh)
//
// The first block has no Lambda. Its Forward keeps v_0 for the blocks after it, and its Backward adds Δ at v_0 from
// those blocks, whose Backward comes before.
type ValueResidual[T Number] struct {
	Lambda Matrix[T] // [λ₁, λ₂] (1, 2); the zero Matrix in the first block
	Shared *FirstValues[T]
}

// FirstValues holds v_0 and Δ at v_0 for the blocks of a model.
type FirstValues[T Number] struct{ v, delta Matrix[T] }

// mix returns the values in place of v.
func (r ValueResidual[T]) mix(v Matrix[T]) Matrix[T] {
	switch {
	case r.Shared == nil && !r.Lambda.None():
		return failed[T]("factors of values without the values of the first block")
	case r.Shared == nil:
		return v
	case r.Lambda.None():
		r.Shared.v = v
		return v
	}
	return mixed(r.Lambda, v, r.Shared.v)
}

// back returns Δ at v, and the gradients Δλ₁ = Σ Δ ∘ v_l and Δλ₂ = Σ Δ ∘ v_0.
func (r ValueResidual[T]) back(v, delta Matrix[T]) (dv Matrix[T], g Gradients[T]) {
	switch {
	case r.Shared == nil:
		return r.mix(delta), nil
	case r.Lambda.None():
		if !r.Shared.delta.None() {
			delta = delta.Add(r.Shared.delta)
		}
		r.Shared.delta = Matrix[T]{}
		return delta, nil
	}
	dv, through, dlambda := mixedBackward(r.Lambda, v, r.Shared.v, delta)
	if !r.Shared.delta.None() {
		through = through.Add(r.Shared.delta)
	}
	r.Shared.delta = through
	return dv, gradient(r.Lambda, "v_lambda", "λ", "Σ Δ_v ∘ v, Σ Δ_v ∘ v₀", dlambda)
}

// values returns the mixing of values at.v_lambda, with what the blocks share.
func (at Site[T]) values() ValueResidual[T] {
	return ValueResidual[T]{at.Optional("v_lambda"), at.Values}
}
