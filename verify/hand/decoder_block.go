package hand

import "slices"

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
