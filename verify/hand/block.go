package hand

import "slices"

// Block is the block of GPT-2, with the norm before each sublayer: rows a₂ to a₁₀ of Table 2.
type Block[T Number] struct {
	Norm1, Attention, Norm2, MLP Layer[T]
	Stream                       Connections[T]
}

// chain computes Table 2 from a₁ downwards and, read upwards, its Δ column from Δ₁₀ to Δ₁.
func (l Block[T]) chain() Chain[T] {
	return l.Stream.block("Δ₅ + LNᵇ(Δ₂) (40)",
		l.Stream.sublayer("attn", // a₅ = a₁ + a₄ (B·n, d)
			Apply[T]{Name: "ln_1", From: "h", To: "h", Layer: l.Norm1, Index: "₁", Delta: "Δ₂ = Σ_h (…) (33), (35)"},
			Apply[T]{Name: "attn", From: "h", To: "y", Layer: l.Attention, Delta: "Δ₅ = Δ₁₀ + LNᵇ(Δ₆) (40)"}, // a₄
		),
		l.Stream.sublayer("mlp", // a₁₀ = a₅ + a₉ (B·n, d)
			Apply[T]{Name: "ln_2", From: "h", To: "h", Layer: l.Norm2, Index: "₅", Delta: "Δ₆ = " + enteringMLP(l.MLP)},
			Apply[T]{Name: "mlp", From: "h", To: "y", Layer: l.MLP}, // a₉
		),
	)
}

// Forward computes Table 2 from a₁ downwards.
func (l Block[T]) Forward(a1 Matrix[T]) Matrix[T] { return l.chain().Forward(a1) }

// Backward returns the Δ column of Table 2 from Δ₁₀ up to Δ₁.
func (l Block[T]) Backward(a1, d10 Matrix[T]) (d1 Matrix[T], g Gradients[T]) {
	return l.chain().Backward(a1, d10)
}

// enteringMLP returns the formula of the Δ at the input of a block's MLP.
func enteringMLP[T Number](mlp Layer[T]) string {
	switch l := mlp.(type) {
	case GLU[T]:
		return "Δ_g w_gᵗ + Δ_u w_uᵗ"
	case Scaled[T]:
		return enteringMLP(l.Layer)
	case inTurn[T]:
		return "Δ at its convolution"
	}
	return "Δ₇ w₆ᵗ"
}

// inputOf is the name of the Δ at the input of a block. In a stack of blocks that is the output of the previous block.
const inputOf = "x"

// PostNormBlock is the block of Vaswani et al. (2017): a₅ = LN(a₁ + attention(a₁)), a₁₀ = LN(a₅ + MLP(a₅)).
// It has no place for another Stream than the plain one, because it normalises the stream itself.
type PostNormBlock[T Number] Block[T]

// chain computes Table 2 without a₂ and a₆. Δ differs from Δ of Block: the residual around a sublayer has already
// passed through the norm.
func (l PostNormBlock[T]) chain() Chain[T] {
	if l.Stream != nil {
		return Chain[T]{Apply[T]{Name: "connection of a post-norm block", From: "x", To: "y"}}
	}
	plain := l.Stream
	return plain.block("LNᵇ(Δ₅) + Σ_h (…) (33), (35)",
		plain.sublayer("attn", Apply[T]{
			Name: "attn", From: "h", To: "y", Layer: l.Attention, Delta: "LNᵇ(Δ₅) (40)",
			Reading: [2]string{"Δ₅", "LNᵇ(Δ₅)"},
		}),
		Chain[T]{Apply[T]{
			Name: "ln_1", From: "x", To: "x", Layer: l.Norm1, Index: "₁",
			Delta: "Δ₅ = LNᵇ(Δ₁₀) + " + enteringMLP(l.MLP),
		}},
		plain.sublayer("mlp", Apply[T]{
			Name: "mlp", From: "h", To: "y", Layer: l.MLP, Delta: "LNᵇ(Δ₁₀) (40)",
			Reading: [2]string{"Δ₁₀", "LNᵇ(Δ₁₀)"},
		}),
		Chain[T]{Apply[T]{Name: "ln_2", From: "x", To: "x", Layer: l.Norm2, Index: "₅"}},
	)
}

// Forward returns a₁₀.
func (l PostNormBlock[T]) Forward(a1 Matrix[T]) Matrix[T] { return l.chain().Forward(a1) }

// Backward passes Δ₁₀ through the links.
func (l PostNormBlock[T]) Backward(a1, d10 Matrix[T]) (d1 Matrix[T], g Gradients[T]) {
	return l.chain().Backward(a1, d10)
}

// DecoderBlock is the block of an encoder–decoder's decoder, with the norm before each sublayer (Conti chapter 1, CS
// 224n section 3.7):
//
//	u = x + attention(norm₁(x)),  v = u + cross(norm_c(u)),  y = v + mlp(norm₂(v))
type DecoderBlock[T Number] struct {
	Norm1, Attention, NormCross, Cross, Norm2, MLP Layer[T]
	Stream                                         Connections[T]
}

// chain computes the three sums. Going back through each of them, Δ becomes Δ + LNᵇ(…).
func (l DecoderBlock[T]) chain() Chain[T] {
	return slices.Concat(
		l.Stream.sublayer("attn",
			Apply[T]{Name: "ln_1", From: "h", To: "h", Layer: l.Norm1},
			Apply[T]{Name: "attn", From: "h", To: "y", Layer: l.Attention}, // u (B·n, d)
		),
		l.Stream.sublayer("cross",
			Apply[T]{Name: "ln_cross", From: "h", To: "h", Layer: l.NormCross},
			Apply[T]{Name: "cross", From: "h", To: "y", Layer: l.Cross}, // v (B·n, d)
		),
		l.Stream.sublayer("mlp",
			Apply[T]{Name: "ln_2", From: "h", To: "h", Layer: l.Norm2},
			Apply[T]{Name: "mlp", From: "h", To: "y", Layer: l.MLP}, // y (B·n, d)
		),
		Chain[T]{plus[T]{"y", []string{"x"}}},
	)
}

// Forward returns the three sums.
func (l DecoderBlock[T]) Forward(x Matrix[T]) Matrix[T] { return l.chain().Forward(x) }

// Backward passes Δ through the links.
func (l DecoderBlock[T]) Backward(x, dy Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return l.chain().Backward(x, dy)
}

// PostNormDecoderBlock has the norm after each sum.
//
//	u = norm₁(x + attention(x)),  v = norm_c(u + cross(u)),  y = norm₂(v + mlp(v))
//
// Like PostNormBlock it has no place for another Stream than the plain one.
type PostNormDecoderBlock[T Number] DecoderBlock[T]

// chain computes the three normalised sums. Going back through each norm, Δ becomes LNᵇ(Δ) + ….
func (l PostNormDecoderBlock[T]) chain() Chain[T] {
	if l.Stream != nil {
		return Chain[T]{Apply[T]{Name: "connection of a post-norm block", From: "x", To: "y"}}
	}
	plain := l.Stream
	return slices.Concat(
		plain.sublayer("attn", Apply[T]{Name: "attn", From: "h", To: "y", Layer: l.Attention}),
		Chain[T]{Apply[T]{Name: "ln_1", From: "x", To: "x", Layer: l.Norm1}}, // u (B·n, d)
		plain.sublayer("cross", Apply[T]{Name: "cross", From: "h", To: "y", Layer: l.Cross}),
		Chain[T]{Apply[T]{Name: "ln_cross", From: "x", To: "x", Layer: l.NormCross}}, // v (B·n, d)
		plain.sublayer("mlp", Apply[T]{Name: "mlp", From: "h", To: "y", Layer: l.MLP}),
		Chain[T]{Apply[T]{Name: "ln_2", From: "x", To: "y", Layer: l.Norm2}}, // y (B·n, d)
	)
}

// Forward returns the three normalised sums.
func (l PostNormDecoderBlock[T]) Forward(x Matrix[T]) Matrix[T] { return l.chain().Forward(x) }

// Backward passes Δ through the links.
func (l PostNormDecoderBlock[T]) Backward(x, dy Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return l.chain().Backward(x, dy)
}
