package hand

// XSA is the link of exclusive self-attention (arXiv:2603.09078). It takes the direction of the token's value out of
// the result of every head:
//
//	y ← y − λ s v,  s = y·v/w,  w = ‖v‖² + 10⁻¹²       (n, dh) of each head
type XSA[T Number] struct {
	Heads  Heads[T]
	Value  string    // the name of the values of the groups of heads
	Lambda Matrix[T] // λ (1, H); 1 if it is the zero Matrix
}

// rows returns y, v, w and s, with a row for every head of every token, and λ.
func (l XSA[T]) rows(values Values[T]) (y, v, w, s, lambda Matrix[T]) {
	heads := ofHeads[T]{heads: l.Heads.Count}
	packed := values.at("y")
	y, v = heads.split(packed), heads.split(l.Heads.repeat(packed, values.at(l.Value)))
	w = v.Square().Sum().Shift(1e-12)
	s = y.Mul(v).Sum().Div(w)
	if lambda = s.zeros().Shift(1); !l.Lambda.None() {
		ones := Zeros[T](packed.Rows, 1).Shift(1)
		lambda = ones.MatMul(l.Lambda).reshaped(s.Rows, 1)
	}
	return y, v, w, s, lambda
}

// Forward returns y − λ s v.
func (l XSA[T]) Forward(values Values[T]) (written Values[T]) {
	packed := values.at("y")
	y, v, _, s, lambda := l.rows(values)
	return Values[T]{"y": y.Sub(v.Mul(s).Mul(lambda)).reshaped(packed.Rows, packed.Cols)}
}

// Backward returns Δ at y and at v, which is a sum over the heads of a group, and the gradient of λ:
//
//	Δy = Δ − λ (Δ·v)/w v
//	Δv = −λ (s Δ + (Δ·v)(y − 2 s v)/w)
//	∂λ = −Σ s (Δ·v), over the tokens
func (l XSA[T]) Backward(values, delta Values[T]) (read Values[T], g Gradients[T]) {
	packed := values.at("y")
	y, v, w, s, lambda := l.rows(values)
	d := ofHeads[T]{heads: l.Heads.Count}.split(delta["y"])
	along := d.Mul(v).Sum()
	dy := d.Sub(v.Mul(along.Div(w)).Mul(lambda))
	dv := d.Mul(s).Add(y.Sub(v.Mul(s).Scale(2)).Mul(along.Div(w))).Mul(lambda).Scale(-1)
	of := func(x Matrix[T]) Matrix[T] { return x.reshaped(packed.Rows, packed.Cols) }
	dlambda := s.Mul(along).Scale(-1).reshaped(packed.Rows, max(1, l.Heads.Count)).SumTokens()
	read = Values[T]{"y": of(dy), l.Value: l.Heads.sum(of(dv))}
	return read, gradient(l.Lambda, "xsa_lambda", "λ", "−Σ s (Δ·v)", dlambda)
}
