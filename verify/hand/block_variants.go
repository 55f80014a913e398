package hand

// SandwichBlock is the block of Gemma 2 (2024), with a norm before and after each sublayer: a₅ = a₁ +
// LN(attention(LN(a₁))), a₁₀ = a₅ + LN(MLP(LN(a₅))).
type SandwichBlock[T Number] struct {
	Norm1, Attention, Post1 Layer[T]
	Norm2, MLP, Post2       Layer[T]
	Stream                  Connections[T]
}

// chain computes Table 2 with a norm after a₄ and after a₉. Δ passes through one more norm before it enters a sublayer.
func (l SandwichBlock[T]) chain() Chain[T] {
	return l.Stream.block("Δ₅ + LNᵇ(Δ₂) (40)",
		l.Stream.sublayer("attn",
			Apply[T]{Name: "ln_1", From: "h", To: "h", Layer: l.Norm1, Index: "₁", Delta: "Δ₂ = Σ_h (…) (33), (35)"},
			Apply[T]{
				Name: "attn", From: "h", To: "h", Layer: l.Attention, Delta: "Δ₄ = LNᵇ(Δ₅) (40)",
				Reading: [2]string{"Δ₅", "Δ₄"},
			},
			Apply[T]{
				Name: "ln_1_post", From: "h", To: "y", Layer: l.Post1, Index: "₄", Delta: "Δ₅ = Δ₁₀ + LNᵇ(Δ₆) (40)",
			},
		),
		l.Stream.sublayer("mlp",
			Apply[T]{Name: "ln_2", From: "h", To: "h", Layer: l.Norm2, Index: "₅", Delta: "Δ₆ = " + enteringMLP(l.MLP)},
			Apply[T]{
				Name: "mlp", From: "h", To: "h", Layer: l.MLP, Delta: "Δ₉ = LNᵇ(Δ₁₀) (40)",
				Reading: [2]string{"Δ₁₀", "Δ₉"},
			},
			Apply[T]{Name: "ln_2_post", From: "h", To: "y", Layer: l.Post2, Index: "₉"},
		),
	)
}

// Forward returns a₁₀.
func (l SandwichBlock[T]) Forward(a1 Matrix[T]) Matrix[T] { return l.chain().Forward(a1) }

// Backward passes Δ₁₀ through the links.
func (l SandwichBlock[T]) Backward(a1, d10 Matrix[T]) (d1 Matrix[T], g Gradients[T]) {
	return l.chain().Backward(a1, d10)
}

// PostPartBlock is the block of OLMo 2 (2024): a₅ = a₁ + LN(attention(a₁)), a₁₀ = a₅ + LN(MLP(a₅)).
type PostPartBlock[T Number] Block[T]

// chain computes Table 2 with the norms after a₄ and a₉. Δ passes through the norm before it enters a sublayer.
func (l PostPartBlock[T]) chain() Chain[T] {
	return l.Stream.block("Δ₅ + Σ_h (…) (33), (35)",
		l.Stream.sublayer("attn",
			Apply[T]{
				Name: "attn", From: "h", To: "h", Layer: l.Attention, Delta: "Δ₄ = LNᵇ(Δ₅) (40)",
				Reading: [2]string{"Δ₅", "Δ₄"},
			},
			Apply[T]{
				Name: "ln_1", From: "h", To: "y", Layer: l.Norm1, Index: "₄", Delta: "Δ₅ = Δ₁₀ + " + enteringMLP(l.MLP),
			},
		),
		l.Stream.sublayer("mlp",
			Apply[T]{
				Name: "mlp", From: "h", To: "h", Layer: l.MLP, Delta: "Δ₉ = LNᵇ(Δ₁₀) (40)",
				Reading: [2]string{"Δ₁₀", "Δ₉"},
			},
			Apply[T]{Name: "ln_2", From: "h", To: "y", Layer: l.Norm2, Index: "₉"},
		),
	)
}

// Forward returns a₁₀.
func (l PostPartBlock[T]) Forward(a1 Matrix[T]) Matrix[T] { return l.chain().Forward(a1) }

// Backward passes Δ₁₀ through the links.
func (l PostPartBlock[T]) Backward(a1, d10 Matrix[T]) (d1 Matrix[T], g Gradients[T]) {
	return l.chain().Backward(a1, d10)
}

// ParallelBlock is the block of GPT-J (2021), whose sublayers read the same normalised tokens: a₂ = LN(a₁), a₁₀ = a₁ +
// attention(a₂) + MLP(a₂).
type ParallelBlock[T Number] struct {
	Norm, Attention, MLP Layer[T]
	Stream               Connections[T]
}

// chain computes a₁₀. Δ₂ is a sum over both sublayers.
func (l ParallelBlock[T]) chain() Chain[T] {
	return l.Stream.block("Δ₁₀ + LNᵇ(Δ₂) (40)", l.Stream.links("attn", Chain[T]{
		Apply[T]{
			Name: "ln_1", From: "h", To: "h", Layer: l.Norm, Index: "₁",
			Delta: "Δ₂ = Σ_h (…) (33), (35) + " + enteringMLP(l.MLP),
		},
		Apply[T]{Name: "attn", From: "h", To: "a", Layer: l.Attention, Reading: [2]string{"Δ₅", "Δ₁₀"}},
		Apply[T]{Name: "mlp", From: "h", To: "b", Layer: l.MLP},
		plus[T]{"y", []string{"a", "b"}},
	}))
}

// Forward returns a₁₀.
func (l ParallelBlock[T]) Forward(a1 Matrix[T]) Matrix[T] { return l.chain().Forward(a1) }

// Backward passes Δ₁₀ through the links.
func (l ParallelBlock[T]) Backward(a1, d10 Matrix[T]) (d1 Matrix[T], g Gradients[T]) {
	return l.chain().Backward(a1, d10)
}

// ParallelTwoBlock is the block of GPT-NeoX (2022), a parallel block with two norms: a₁₀ = a₁ + attention(LN(a₁)) +
// MLP(LN(a₁)).
type ParallelTwoBlock[T Number] Block[T]

// chain computes a₁₀. Δ₁ is a sum over three ways.
func (l ParallelTwoBlock[T]) chain() Chain[T] {
	return l.Stream.block("Δ₁₀ + LNᵇ(Δ₂) + LNᵇ(Δ₆) (40)", l.Stream.links("attn", Chain[T]{
		Apply[T]{Name: "ln_1", From: "h", To: "a", Layer: l.Norm1, Index: "₁", Delta: "Δ₂ = Σ_h (…) (33), (35)"},
		Apply[T]{Name: "attn", From: "a", To: "a", Layer: l.Attention, Reading: [2]string{"Δ₅", "Δ₁₀"}},
		Apply[T]{Name: "ln_2", From: "h", To: "b", Layer: l.Norm2, Index: "₅", Delta: "Δ₆ = " + enteringMLP(l.MLP)},
		Apply[T]{Name: "mlp", From: "b", To: "b", Layer: l.MLP},
		plus[T]{"y", []string{"a", "b"}},
	}))
}

// Forward returns a₁₀.
func (l ParallelTwoBlock[T]) Forward(a1 Matrix[T]) Matrix[T] { return l.chain().Forward(a1) }

// Backward passes Δ₁₀ through the links.
func (l ParallelTwoBlock[T]) Backward(a1, d10 Matrix[T]) (d1 Matrix[T], g Gradients[T]) {
	return l.chain().Backward(a1, d10)
}
