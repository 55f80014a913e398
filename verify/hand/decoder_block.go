package hand

import "slices"

// DecoderBlock is the block of an encoder–decoder's decoder, with the norm before each sublayer (Conti chapter 1, CS
// 224n section 3.7):
//
//	u = x + attention(norm₁(x)),  v = u + cross(norm_c(u)),  y = v + mlp(norm₂(v))
type DecoderBlock[T Number] struct{ Norm1, Attention, NormCross, Cross, Norm2, MLP Layer[T] }

// Forward is the three sums.
func (l DecoderBlock[T]) Forward(x Matrix[T]) Matrix[T] {
	u := x.Add(within("attn", x, l.Attention.Forward(l.Norm1.Forward(x))))  // (B·n, d)
	v := u.Add(within("cross", u, l.Cross.Forward(l.NormCross.Forward(u)))) // (B·n, d)
	return v.Add(within("mlp", v, l.MLP.Forward(l.Norm2.Forward(v))))       // (B·n, d)
}

// Backward goes back through each of them, Δ + LNᵇ(…).
func (l DecoderBlock[T]) Backward(x, dy Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	u := x.Add(l.Attention.Forward(l.Norm1.Forward(x)))
	v := u.Add(l.Cross.Forward(l.NormCross.Forward(u)))
	dv, mlp := preNormBackward(l.Norm2, l.MLP, v, dy, "ln_2", "mlp")
	du, cross := preNormBackward(l.NormCross, l.Cross, u, dv, "ln_cross", "cross")
	dx, attention := preNormBackward(l.Norm1, l.Attention, x, du, "ln_1", "attn")
	return dx, slices.Concat(attention, cross, mlp)
}

// preNormBackward is that of y = x + part(norm(x)).
func preNormBackward[T Number](norm, part Layer[T], x, dy Matrix[T], ln, name string) (dx Matrix[T], g Gradients[T]) {
	normed := norm.Forward(x)
	d, gp := part.Backward(normed, dy)
	through, gn := norm.Backward(x, d)
	return dy.Add(through), append(gn.In(ln, ""), gp.In(name, "")...)
}

// PostNormDecoderBlock has the norm after each sum.
//
//	u = norm₁(x + attention(x)),  v = norm_c(u + cross(u)),  y = norm₂(v + mlp(v))
type PostNormDecoderBlock[T Number] struct{ Norm1, Attention, NormCross, Cross, Norm2, MLP Layer[T] }

// Forward is the three normalised sums.
func (l PostNormDecoderBlock[T]) Forward(x Matrix[T]) Matrix[T] {
	u := l.Norm1.Forward(x.Add(within("attn", x, l.Attention.Forward(x))))  // (B·n, d)
	v := l.NormCross.Forward(u.Add(within("cross", u, l.Cross.Forward(u)))) // (B·n, d)
	return l.Norm2.Forward(v.Add(within("mlp", v, l.MLP.Forward(v))))       // (B·n, d)
}

// Backward goes back through each of them, LNᵇ(Δ) + ….
func (l PostNormDecoderBlock[T]) Backward(x, dy Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	u := l.Norm1.Forward(x.Add(l.Attention.Forward(x)))
	v := l.NormCross.Forward(u.Add(l.Cross.Forward(u)))
	dv, mlp := postNormBackward(l.Norm2, l.MLP, v, dy, "ln_2", "mlp")
	du, cross := postNormBackward(l.NormCross, l.Cross, u, dv, "ln_cross", "cross")
	dx, attention := postNormBackward(l.Norm1, l.Attention, x, du, "ln_1", "attn")
	return dx, slices.Concat(attention, cross, mlp)
}

// postNormBackward is that of y = norm(x + part(x)).
func postNormBackward[T Number](norm, part Layer[T], x, dy Matrix[T], ln, name string) (dx Matrix[T], g Gradients[T]) {
	sum, gn := norm.Backward(x.Add(part.Forward(x)), dy)
	through, gp := part.Backward(x, sum)
	return sum.Add(through), append(gp.In(name, ""), gn.In(ln, "")...)
}
