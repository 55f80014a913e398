package hand

import "slices"

// MLP is the feed-forward layer of a block: it expands the features of each token, applies the activation and
// contracts.
//
//	y = g(x w₁ + b₁) w₂ + b₂    (n, d)          rows a₇ to a₉ of Table 2
type MLP[T Number] struct {
	Fc, Act, Proj Layer[T] // (d, f), (f, d)
	Drop          Dropout[T]
}

// Forward computes rows a₇ to a₉.
func (l MLP[T]) Forward(a6 Matrix[T]) Matrix[T] {
	a7 := forward("c_fc", l.Fc, a6)     // a₇  (n, f)
	a8 := forward("act", l.Act, a7)     // a₈  (n, f)
	a9 := forward("c_proj", l.Proj, a8) // a₉  (n, d)
	return l.Drop.Forward(a9)
}

// Backward computes rows Δ₉ to Δ₆.
func (l MLP[T]) Backward(a6, d10 Matrix[T]) (d6 Matrix[T], g Gradients[T]) {
	a7 := forward("c_fc", l.Fc, a6)
	a8 := forward("act", l.Act, a7)
	d9, _ := l.Drop.Backward(a8, d10)              // Δ₁₀ dispatched
	d8, proj := backward("c_proj", l.Proj, a8, d9) // Δ₈ = Δ₁₀ w₈ᵗ
	d7, _ := backward("act", l.Act, a7, d8)        // Δ₇ = Δ₈ ∘ g'(a₇)
	d6, fc := backward("c_fc", l.Fc, a6, d7)       // Δ₆ = Δ₇ w₆ᵗ
	return d6, slices.Concat(
		fc.by("a₆ᵗΔ₇", "ΣΔ₇").In("c_fc", "₆"),
		deltaAt("c_fc", "Δ₇ = Δ₈ ∘ g'(a₇)", d7),
		deltaAt("act", "Δ₈ = Δ₁₀ w₈ᵗ", d8),
		proj.by("a₈ᵗΔ₁₀", "ΣΔ₁₀").In("c_proj", "₈"),
		deltaAt("c_proj", "Δ₁₀, dispatched to a₉", d9),
	)
}

// MLP returns the layer with at.c_fc and at.c_proj.
func (at Site[T]) MLP(act Layer[T]) Layer[T] {
	return MLP[T]{at.At("c_fc").Linear(), act, at.At("c_proj").Linear(), at.Drop("dropout")}
}
