package hand

import "slices"

// Block is the block of GPT-2, with the norm before each sublayer: rows a₂ to a₁₀ of Table 2.
type Block[T Number] struct{ Norm1, Attention, Norm2, MLP Layer[T] }

// Forward computes Table 2 from a₁ downwards.
func (l Block[T]) Forward(a1 Matrix[T]) Matrix[T] {
	a2 := forward("ln_1", l.Norm1, a1)     // a₂  (B·n, d)
	a4 := forward("attn", l.Attention, a2) // a₄  (B·n, d)
	a5 := a1.Add(a4)                       // a₅  (B·n, d)
	a6 := forward("ln_2", l.Norm2, a5)     // a₆  (B·n, d)
	a9 := forward("mlp", l.MLP, a6)        // a₉  (B·n, d)
	return a5.Add(a9)                      // a₁₀ (B·n, d)
}

// Backward returns the Δ column of Table 2 from Δ₁₀ up to Δ₁.
func (l Block[T]) Backward(a1, d10 Matrix[T]) (d1 Matrix[T], g Gradients[T]) {
	a2 := forward("ln_1", l.Norm1, a1)
	a5 := a1.Add(forward("attn", l.Attention, a2))
	a6 := forward("ln_2", l.Norm2, a5)
	d6, mlp := backward("mlp", l.MLP, a6, d10) // Δ₁₀ → Δ₆
	through, norm2 := backward("ln_2", l.Norm2, a5, d6)
	d5 := d10.Add(through)                                 // Δ₅ = Δ₁₀ + LNᵇ(Δ₆)
	d2, attention := backward("attn", l.Attention, a2, d5) // Δ₅ → Δ₂
	through, norm1 := backward("ln_1", l.Norm1, a1, d2)
	d1 = d5.Add(through) // Δ₁ = Δ₅ + LNᵇ(Δ₂)
	return d1, slices.Concat(
		deltaAt(inputOf, "Δ₅ + LNᵇ(Δ₂) (40)", d1),
		norm1.In("ln_1", "₁"),
		deltaAt("ln_1", "Δ₂ = Σ_h (…) (33), (35)", d2),
		attention.In("attn", ""),
		deltaAt("attn", "Δ₅ = Δ₁₀ + LNᵇ(Δ₆) (40)", d5),
		norm2.In("ln_2", "₅"),
		deltaAt("ln_2", "Δ₆ = "+enteringMLP(l.MLP), d6),
		mlp.In("mlp", ""),
	)
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
type PostNormBlock[T Number] struct{ Norm1, Attention, Norm2, MLP Layer[T] }

// Forward computes Table 2 without a₂ and a₆.
func (l PostNormBlock[T]) Forward(a1 Matrix[T]) Matrix[T] {
	a4 := forward("attn", l.Attention, a1) // a₄  (B·n, d)
	s1 := a1.Add(a4)                       //     (B·n, d)
	a5 := forward("ln_1", l.Norm1, s1)     // a₅  (B·n, d)
	a9 := forward("mlp", l.MLP, a5)        // a₉  (B·n, d)
	s2 := a5.Add(a9)                       //     (B·n, d)
	return forward("ln_2", l.Norm2, s2)    // a₁₀ (B·n, d)
}

// Backward differs from Block's: the residual around a sublayer has already passed through the norm.
func (l PostNormBlock[T]) Backward(a1, d10 Matrix[T]) (d1 Matrix[T], g Gradients[T]) {
	s1 := a1.Add(forward("attn", l.Attention, a1))
	a5 := forward("ln_1", l.Norm1, s1)
	s2 := a5.Add(forward("mlp", l.MLP, a5))
	ds2, norm2 := backward("ln_2", l.Norm2, s2, d10) // LNᵇ(Δ₁₀)
	through, mlp := backward("mlp", l.MLP, a5, ds2)  // dispatched → Δ₇ w₆ᵗ
	d5 := ds2.Add(through)                           // Δ₅
	ds1, norm1 := backward("ln_1", l.Norm1, s1, d5)  // LNᵇ(Δ₅)
	through, attention := backward("attn", l.Attention, a1, ds1)
	d1 = ds1.Add(through) // Δ₁
	return d1, slices.Concat(
		deltaAt(inputOf, "LNᵇ(Δ₅) + Σ_h (…) (33), (35)", d1),
		attention.reading("Δ₅", "LNᵇ(Δ₅)").In("attn", ""),
		deltaAt("attn", "LNᵇ(Δ₅) (40)", ds1),
		norm1.In("ln_1", "₁"),
		deltaAt("ln_1", "Δ₅ = LNᵇ(Δ₁₀) + "+enteringMLP(l.MLP), d5),
		mlp.reading("Δ₁₀", "LNᵇ(Δ₁₀)").In("mlp", ""),
		deltaAt("mlp", "LNᵇ(Δ₁₀) (40)", ds2),
		norm2.In("ln_2", "₅"),
	)
}

// DecoderBlock is the block of an encoder–decoder's decoder, with the norm before each sublayer (Conti chapter 1, CS
// 224n section 3.7):
//
//	u = x + attention(norm₁(x)),  v = u + cross(norm_c(u)),  y = v + mlp(norm₂(v))
type DecoderBlock[T Number] struct{ Norm1, Attention, NormCross, Cross, Norm2, MLP Layer[T] }

// Forward returns the three sums.
func (l DecoderBlock[T]) Forward(x Matrix[T]) Matrix[T] {
	u := x.Add(forward("attn", l.Attention, forward("ln_1", l.Norm1, x)))      // (B·n, d)
	v := u.Add(forward("cross", l.Cross, forward("ln_cross", l.NormCross, u))) // (B·n, d)
	return v.Add(forward("mlp", l.MLP, forward("ln_2", l.Norm2, v)))           // (B·n, d)
}

// Backward goes back through each sum, Δ + LNᵇ(…).
func (l DecoderBlock[T]) Backward(x, dy Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	u := x.Add(forward("attn", l.Attention, forward("ln_1", l.Norm1, x)))
	v := u.Add(forward("cross", l.Cross, forward("ln_cross", l.NormCross, u)))
	dv, mlp := preNormBackward(l.Norm2, l.MLP, v, dy, "ln_2", "mlp")
	du, cross := preNormBackward(l.NormCross, l.Cross, u, dv, "ln_cross", "cross")
	dx, attention := preNormBackward(l.Norm1, l.Attention, x, du, "ln_1", "attn")
	return dx, slices.Concat(attention, cross, mlp)
}

// preNormBackward returns the gradients of y = x + part(norm(x)).
func preNormBackward[T Number](norm, part Layer[T], x, dy Matrix[T], ln, name string) (dx Matrix[T], g Gradients[T]) {
	normed := forward(ln, norm, x)
	d, gp := backward(name, part, normed, dy)
	through, gn := backward(ln, norm, x, d)
	return dy.Add(through), append(gn.In(ln, ""), gp.In(name, "")...)
}

// PostNormDecoderBlock has the norm after each sum.
//
//	u = norm₁(x + attention(x)),  v = norm_c(u + cross(u)),  y = norm₂(v + mlp(v))
type PostNormDecoderBlock[T Number] struct{ Norm1, Attention, NormCross, Cross, Norm2, MLP Layer[T] }

// Forward returns the three normalised sums.
func (l PostNormDecoderBlock[T]) Forward(x Matrix[T]) Matrix[T] {
	u := forward("ln_1", l.Norm1, x.Add(forward("attn", l.Attention, x)))      // (B·n, d)
	v := forward("ln_cross", l.NormCross, u.Add(forward("cross", l.Cross, u))) // (B·n, d)
	return forward("ln_2", l.Norm2, v.Add(forward("mlp", l.MLP, v)))           // (B·n, d)
}

// Backward goes back through each norm, LNᵇ(Δ) + ….
func (l PostNormDecoderBlock[T]) Backward(x, dy Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	u := forward("ln_1", l.Norm1, x.Add(forward("attn", l.Attention, x)))
	v := forward("ln_cross", l.NormCross, u.Add(forward("cross", l.Cross, u)))
	dv, mlp := postNormBackward(l.Norm2, l.MLP, v, dy, "ln_2", "mlp")
	du, cross := postNormBackward(l.NormCross, l.Cross, u, dv, "ln_cross", "cross")
	dx, attention := postNormBackward(l.Norm1, l.Attention, x, du, "ln_1", "attn")
	return dx, slices.Concat(attention, cross, mlp)
}

// postNormBackward returns the gradients of y = norm(x + part(x)).
func postNormBackward[T Number](norm, part Layer[T], x, dy Matrix[T], ln, name string) (dx Matrix[T], g Gradients[T]) {
	sum, gn := backward(ln, norm, x.Add(forward(name, part, x)), dy)
	through, gp := backward(name, part, x, sum)
	return sum.Add(through), append(gp.In(name, ""), gn.In(ln, "")...)
}
