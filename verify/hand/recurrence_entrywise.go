package hand

import "slices"

// entryScan is a recurrence of every entry by itself, in each of Batch sequences.
//
//	h_t = a_t ∘ h_{t−1} + b_t        (B·n, w)
type entryScan[T Number] struct {
	Batch  int
	Before Matrix[T] // h before the first token, a constant; zeros if it is the zero Matrix  (B, w)
}

// before returns h before the first token of every sequence.
func (l entryScan[T]) before(b Matrix[T]) Matrix[T] {
	if l.Before.None() {
		return Zeros[T](max(1, l.Batch), b.Cols)
	}
	return l.Before
}

// sequences calls f with the rows of every sequence of xs, and joins its results.
func (l entryScan[T]) sequences(f func(x []Matrix[T]) []Matrix[T], xs ...Matrix[T]) []Matrix[T] {
	return perHead(l.Batch, 1, func(_, _ int, x []Matrix[T]) []Matrix[T] { return f(x) }, xs...)
}

// Forward returns h.
func (l entryScan[T]) Forward(b, a Matrix[T]) Matrix[T] {
	return l.sequences(func(x []Matrix[T]) []Matrix[T] {
		if err := firstErr(x...); err != nil {
			return []Matrix[T]{{Err: err}}
		}
		b, a, h := x[0], x[1], x[2]
		var rows []Matrix[T]
		for t := range b.Rows {
			h = a.Tokens(t, t+1).Mul(h).Add(b.Tokens(t, t+1))
			rows = append(rows, h)
		}
		return []Matrix[T]{JoinTokens(rows...)}
	}, b, a, l.before(b))[0]
}

// Backward goes from the last token to the first with the Δ of the state, R:
//
//	R ← Δ_t + a_{t+1} ∘ R    Δb_t = R    Δa_t = R ∘ h_{t−1}
func (l entryScan[T]) Backward(b, a, delta Matrix[T]) (db, da Matrix[T]) {
	d := l.sequences(func(x []Matrix[T]) []Matrix[T] {
		if err := firstErr(x...); err != nil {
			return []Matrix[T]{{Err: err}, {Err: err}}
		}
		a, h, delta := x[0], x[1], x[2]
		n := a.Rows
		db, da := make([]Matrix[T], n), make([]Matrix[T], n)
		for t := n - 1; t >= 0; t-- {
			if db[t] = delta.Tokens(t, t+1); t < n-1 {
				db[t] = db[t].Add(a.Tokens(t+1, t+2).Mul(db[t+1]))
			}
			before := x[3]
			if t > 0 {
				before = h.Tokens(t-1, t)
			}
			da[t] = db[t].Mul(before)
		}
		return []Matrix[T]{JoinTokens(db...), JoinTokens(da...)}
	}, a, l.Forward(b, a), delta, l.before(b))
	return d[0], d[1]
}

// minGRU is a gated recurrence whose gates do not depend on the state.
//
//	z = σ(x w_z + b_z)    u = x w_u + b_u    h_t = (1 − z_t) ∘ h_{t−1} + z_t ∘ u_t
//	y = h w_proj + b_proj        (B·n, d)
type minGRU[T Number] struct {
	Decay, Update Layer[T] // (d, w)
	Scan          entryScan[T]
	Proj          Layer[T] // (w, d)
	Drop          Dropout[T]
}

// pass returns the logits of z, u, and h.
func (l minGRU[T]) pass(x Matrix[T]) (logits, u, h Matrix[T]) {
	logits, u = forward("c_decay", l.Decay, x), forward("c_update", l.Update, x)
	return logits, u, l.Scan.Forward(sigmoid(logits).Mul(u), sigmoid(logits.Scale(-1)))
}

// Forward returns h w_proj + b_proj.
func (l minGRU[T]) Forward(x Matrix[T]) Matrix[T] {
	_, _, h := l.pass(x)
	return l.Drop.Forward(forward("c_proj", l.Proj, h))
}

// Backward carries Δ back through time. The logits of z = σ(s) get it from both of its places:
//
//	Δs = (u ∘ Δb − Δa) ∘ z(1 − z)    Δu = z ∘ Δb
func (l minGRU[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	logits, u, h := l.pass(x)
	z, rest := sigmoid(logits), sigmoid(logits.Scale(-1))
	d, _ := l.Drop.Backward(h, delta)
	dh, proj := backward("c_proj", l.Proj, h, d)
	db, da := l.Scan.Backward(z.Mul(u), rest, dh)
	dx, update := backward("c_update", l.Update, x, z.Mul(db))
	more, decay := backward("c_decay", l.Decay, x, u.Mul(db).Sub(da).Mul(z).Mul(rest))
	return dx.Add(more), slices.Concat(
		decay.In("c_decay", "_z"), update.In("c_update", "_u"),
		proj.by("hᵗΔ", "ΣΔ").In("c_proj", "₃"), deltaAt("c_proj", "Δ, dispatched to y", d),
	)
}

// MinGRU returns the minimal gated recurrent unit with at.c_decay, at.c_update and at.c_proj.
func (at Site[T]) MinGRU(batch int) Layer[T] {
	return minGRU[T]{
		at.At("c_decay").Linear(), at.At("c_update").Linear(), entryScan[T]{batch, at.Optional("state")},
		at.At("c_proj").Linear(), at.Drop("resid_dropout"),
	}
}

// rgLRU is the recurrent block of Griffin. With u the result of the input layer,
//
//	r = σ(u w_r + b_r)    ln a = 8 ln σ(Λ) ∘ r    i = σ(u w_i + b_i)
//	h_t = a_t ∘ h_{t−1} + m_t ∘ v_t    m = √(1 − a²)    v = i ∘ u
//	y = (GELU(x w_g + b_g) ∘ h) w_proj + b_proj        (B·n, d)
type rgLRU[T Number] struct {
	Input         Layer[T]  // (d, w), with its convolution
	Decay, Update Layer[T]  // (w, w)
	Lambda        Matrix[T] // (1, w)
	Scan          entryScan[T]
	Gate, Proj    Layer[T] // (d, w), (w, d)
	Drop          Dropout[T]
}

// lruPass holds what the backward pass needs of the forward pass.
type lruPass[T Number] struct{ u, logits, a, m, update, v, h, raw Matrix[T] }

// rates returns 8 ln σ(Λ) = −8 softplus(−Λ).
func (l rgLRU[T]) rates() Matrix[T] { return softplus(l.Lambda.Scale(-1)).Scale(-8) }

func (l rgLRU[T]) pass(x Matrix[T]) (p lruPass[T]) {
	p.u = forward("c_attn", l.Input, x)
	p.logits, p.update = forward("c_decay", l.Decay, p.u), forward("c_update", l.Update, p.u)
	p.a = sigmoid(p.logits).Mul(l.rates()).Exp()
	p.m = p.a.Square().Scale(-1).Shift(1).Sqrt()
	p.v = sigmoid(p.update).Mul(p.u)
	p.h = l.Scan.Forward(p.m.Mul(p.v), p.a)
	p.raw = forward("c_gate", l.Gate, x)
	return p
}

// Forward returns (GELU(x w_g + b_g) ∘ h) w_proj + b_proj.
func (l rgLRU[T]) Forward(x Matrix[T]) Matrix[T] {
	p := l.pass(x)
	return l.Drop.Forward(forward("c_proj", l.Proj, GELU[T]{}.Forward(p.raw).Mul(p.h)))
}

// Backward carries Δ through the gate and back through time. ln a gets it from both of its places, and u from three.
// With the logits s of r and e of i,
//
//	Δ(ln a) = a ∘ (Δa − Δb ∘ v ∘ a/m)    Δs = Δ(ln a) ∘ 8 ln σ(Λ) ∘ r(1 − r)    ∂Λ = 8σ(−Λ) ∘ Σ Δ(ln a) ∘ r
//	Δv = m ∘ Δb    Δe = Δv ∘ u ∘ i(1 − i)    Δu = Δv ∘ i + Δs w_rᵗ + Δe w_iᵗ
func (l rgLRU[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	p := l.pass(x)
	gate := GELU[T]{}.Forward(p.raw)
	gated := gate.Mul(p.h)
	d, _ := l.Drop.Backward(gated, delta)
	dgated, proj := backward("c_proj", l.Proj, gated, d)
	draw, _ := GELU[T]{}.Backward(p.raw, dgated.Mul(p.h))
	dx, gates := backward("c_gate", l.Gate, x, draw)

	db, da := l.Scan.Backward(p.m.Mul(p.v), p.a, dgated.Mul(gate))
	dlog := p.a.Mul(da.Sub(db.Mul(p.v).Mul(p.a).Div(p.m)))
	r, rest := sigmoid(p.logits), sigmoid(p.logits.Scale(-1))
	du, decay := backward("c_decay", l.Decay, p.u, dlog.Mul(l.rates()).Mul(r).Mul(rest))
	dlambda := dlog.Mul(r).SumTokens().Mul(sigmoid(l.Lambda.Scale(-1))).Scale(8)
	decay = append(decay, gradient(l.Lambda, "lambda", "Λ", "8σ(−Λ) ∘ Σ Δ(ln a) ∘ r", dlambda)...)
	i, closed := sigmoid(p.update), sigmoid(p.update.Scale(-1))
	dv := p.m.Mul(db)
	more, update := backward("c_update", l.Update, p.u, dv.Mul(p.u).Mul(i).Mul(closed))
	du = du.Add(more).Add(dv.Mul(i))
	more, input := backward("c_attn", l.Input, x, du)
	return dx.Add(more), slices.Concat(
		input.In("c_attn", ""), decay.In("c_decay", "_r"), update.In("c_update", "_i"), gates.In("c_gate", "_g"),
		deltaAt("heads", "Δ at the product with the gate", dgated),
		proj.by("(gate ∘ h)ᵗΔ", "ΣΔ").In("c_proj", "₃"), deltaAt("c_proj", "Δ, dispatched to y", d),
	)
}

// RGLRU returns the recurrent block of Griffin with at.c_attn, at.c_attn.conv, at.c_decay, at.c_update, at.c_gate and
// at.c_proj, for sequences of length tokens.
func (at Site[T]) RGLRU(batch, length int) Layer[T] {
	attn, decay := at.At("c_attn"), at.At("c_decay")
	return rgLRU[T]{
		Input: chain[T]{{"", attn.Linear()}, {"conv", attn.shortConv(length)}},
		Decay: decay.Linear(), Update: at.At("c_update").Linear(), Lambda: decay.Param("lambda"),
		Scan: entryScan[T]{batch, at.Optional("state")}, Gate: at.At("c_gate").Linear(), Proj: at.At("c_proj").Linear(),
		Drop: at.Drop("resid_dropout"),
	}
}
