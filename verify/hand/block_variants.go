package hand

import "slices"

// SandwichBlock is the block of Gemma 2 (2024), with a norm before and after each sublayer: a₅ = a₁ +
// LN(attention(LN(a₁))), a₁₀ = a₅ + LN(MLP(LN(a₅))).
type SandwichBlock[T Number] struct {
	Norm1, Attention, Post1 Layer[T]
	Norm2, MLP, Post2       Layer[T]
}

// Forward computes Table 2 with a norm after a₄ and after a₉.
func (l SandwichBlock[T]) Forward(a1 Matrix[T]) Matrix[T] {
	a4 := forward("attn", l.Attention, forward("ln_1", l.Norm1, a1)) // a₄  (B·n, d)
	a5 := a1.Add(forward("ln_1_post", l.Post1, a4))                  // a₅  (B·n, d)
	a9 := forward("mlp", l.MLP, forward("ln_2", l.Norm2, a5))        // a₉  (B·n, d)
	return a5.Add(forward("ln_2_post", l.Post2, a9))                 // a₁₀ (B·n, d)
}

// Backward differs from Block's: Δ passes through one more norm before it enters a sublayer.
func (l SandwichBlock[T]) Backward(a1, d10 Matrix[T]) (d1 Matrix[T], g Gradients[T]) {
	a2 := forward("ln_1", l.Norm1, a1)
	a4 := forward("attn", l.Attention, a2)
	a5 := a1.Add(forward("ln_1_post", l.Post1, a4))
	a6 := forward("ln_2", l.Norm2, a5)
	a9 := forward("mlp", l.MLP, a6)
	d9, post2 := backward("ln_2_post", l.Post2, a9, d10) // Δ₉ = LNᵇ(Δ₁₀)
	d6, mlp := backward("mlp", l.MLP, a6, d9)            // Δ₉ → Δ₆
	through, norm2 := backward("ln_2", l.Norm2, a5, d6)
	d5 := d10.Add(through)                                 // Δ₅ = Δ₁₀ + LNᵇ(Δ₆)
	d4, post1 := backward("ln_1_post", l.Post1, a4, d5)    // Δ₄ = LNᵇ(Δ₅)
	d2, attention := backward("attn", l.Attention, a2, d4) // Δ₄ → Δ₂
	through, norm1 := backward("ln_1", l.Norm1, a1, d2)
	d1 = d5.Add(through) // Δ₁ = Δ₅ + LNᵇ(Δ₂)
	return d1, slices.Concat(
		deltaAt(inputOf, "Δ₅ + LNᵇ(Δ₂) (40)", d1),
		norm1.In("ln_1", "₁"),
		deltaAt("ln_1", "Δ₂ = Σ_h (…) (33), (35)", d2),
		attention.reading("Δ₅", "Δ₄").In("attn", ""),
		deltaAt("attn", "Δ₄ = LNᵇ(Δ₅) (40)", d4),
		post1.In("ln_1_post", "₄"),
		deltaAt("ln_1_post", "Δ₅ = Δ₁₀ + LNᵇ(Δ₆) (40)", d5),
		norm2.In("ln_2", "₅"),
		deltaAt("ln_2", "Δ₆ = "+enteringMLP(l.MLP), d6),
		mlp.reading("Δ₁₀", "Δ₉").In("mlp", ""),
		deltaAt("mlp", "Δ₉ = LNᵇ(Δ₁₀) (40)", d9),
		post2.In("ln_2_post", "₉"),
	)
}

// PostPartBlock is the block of OLMo 2 (2024): a₅ = a₁ + LN(attention(a₁)), a₁₀ = a₅ + LN(MLP(a₅)).
type PostPartBlock[T Number] struct{ Norm1, Attention, Norm2, MLP Layer[T] }

// Forward computes Table 2 with the norms after a₄ and a₉.
func (l PostPartBlock[T]) Forward(a1 Matrix[T]) Matrix[T] {
	a5 := a1.Add(forward("ln_1", l.Norm1, forward("attn", l.Attention, a1))) // a₅  (B·n, d)
	return a5.Add(forward("ln_2", l.Norm2, forward("mlp", l.MLP, a5)))       // a₁₀ (B·n, d)
}

// Backward differs from Block's: Δ passes through the norm before it enters a sublayer.
func (l PostPartBlock[T]) Backward(a1, d10 Matrix[T]) (d1 Matrix[T], g Gradients[T]) {
	a4 := forward("attn", l.Attention, a1)
	a5 := a1.Add(forward("ln_1", l.Norm1, a4))
	a9 := forward("mlp", l.MLP, a5)
	d9, norm2 := backward("ln_2", l.Norm2, a9, d10) // Δ₉ = LNᵇ(Δ₁₀)
	through, mlp := backward("mlp", l.MLP, a5, d9)
	d5 := d10.Add(through)                         // Δ₅
	d4, norm1 := backward("ln_1", l.Norm1, a4, d5) // Δ₄ = LNᵇ(Δ₅)
	through, attention := backward("attn", l.Attention, a1, d4)
	d1 = d5.Add(through) // Δ₁
	return d1, slices.Concat(
		deltaAt(inputOf, "Δ₅ + Σ_h (…) (33), (35)", d1),
		attention.reading("Δ₅", "Δ₄").In("attn", ""),
		deltaAt("attn", "Δ₄ = LNᵇ(Δ₅) (40)", d4),
		norm1.In("ln_1", "₄"),
		deltaAt("ln_1", "Δ₅ = Δ₁₀ + "+enteringMLP(l.MLP), d5),
		mlp.reading("Δ₁₀", "Δ₉").In("mlp", ""),
		deltaAt("mlp", "Δ₉ = LNᵇ(Δ₁₀) (40)", d9),
		norm2.In("ln_2", "₉"),
	)
}

// ParallelBlock is the block of GPT-J (2021), whose sublayers read the same normalised tokens: a₂ = LN(a₁), a₁₀ = a₁ +
// attention(a₂) + MLP(a₂).
type ParallelBlock[T Number] struct{ Norm, Attention, MLP Layer[T] }

// Forward returns a₁₀.
func (l ParallelBlock[T]) Forward(a1 Matrix[T]) Matrix[T] {
	a2 := forward("ln_1", l.Norm, a1)
	return a1.Add(forward("attn", l.Attention, a2)).Add(forward("mlp", l.MLP, a2))
}

// Backward adds the Δ of both sublayers at their common input.
func (l ParallelBlock[T]) Backward(a1, d10 Matrix[T]) (d1 Matrix[T], g Gradients[T]) {
	a2 := forward("ln_1", l.Norm, a1)
	d2, attention := backward("attn", l.Attention, a2, d10)
	through, mlp := backward("mlp", l.MLP, a2, d10)
	d2 = d2.Add(through) // Δ₂
	through, norm := backward("ln_1", l.Norm, a1, d2)
	d1 = d10.Add(through) // Δ₁ = Δ₁₀ + LNᵇ(Δ₂)
	return d1, slices.Concat(
		deltaAt(inputOf, "Δ₁₀ + LNᵇ(Δ₂) (40)", d1),
		norm.In("ln_1", "₁"),
		deltaAt("ln_1", "Δ₂ = Σ_h (…) (33), (35) + "+enteringMLP(l.MLP), d2),
		attention.reading("Δ₅", "Δ₁₀").In("attn", ""),
		mlp.In("mlp", ""),
	)
}

// ParallelTwoBlock is the block of GPT-NeoX (2022), a parallel block with two norms: a₁₀ = a₁ + attention(LN(a₁)) +
// MLP(LN(a₁)).
type ParallelTwoBlock[T Number] struct{ Norm1, Attention, Norm2, MLP Layer[T] }

// Forward returns a₁₀.
func (l ParallelTwoBlock[T]) Forward(a1 Matrix[T]) Matrix[T] {
	a4 := forward("attn", l.Attention, forward("ln_1", l.Norm1, a1))
	a9 := forward("mlp", l.MLP, forward("ln_2", l.Norm2, a1))
	return a1.Add(a4).Add(a9)
}

// Backward adds the Δ of three ways at the input.
func (l ParallelTwoBlock[T]) Backward(a1, d10 Matrix[T]) (d1 Matrix[T], g Gradients[T]) {
	a2, a6 := forward("ln_1", l.Norm1, a1), forward("ln_2", l.Norm2, a1)
	d2, attention := backward("attn", l.Attention, a2, d10) // Δ₁₀ → Δ₂
	d6, mlp := backward("mlp", l.MLP, a6, d10)              // Δ₁₀ → Δ₆
	first, norm1 := backward("ln_1", l.Norm1, a1, d2)
	second, norm2 := backward("ln_2", l.Norm2, a1, d6)
	d1 = d10.Add(first).Add(second) // Δ₁ = Δ₁₀ + LNᵇ(Δ₂) + LNᵇ(Δ₆)
	return d1, slices.Concat(
		deltaAt(inputOf, "Δ₁₀ + LNᵇ(Δ₂) + LNᵇ(Δ₆) (40)", d1),
		norm1.In("ln_1", "₁"),
		deltaAt("ln_1", "Δ₂ = Σ_h (…) (33), (35)", d2),
		attention.reading("Δ₅", "Δ₁₀").In("attn", ""),
		norm2.In("ln_2", "₅"),
		deltaAt("ln_2", "Δ₆ = "+enteringMLP(l.MLP), d6),
		mlp.In("mlp", ""),
	)
}
