package hand

import "slices"

// mamba2 is the layer of Mamba-2, whose heads have a matrix as their state, and a time step Δ_t for every token. The
// states are those of a recurrence with ln α = −e^a ∘ Δ_t and β = Δ_t. With the numbers D of the heads,
//
//	z = x w + b    Δ_t = softplus(z)    o = q S + D v
//	y = norm(SiLU(x w_g + b_g) ∘ o) w_proj + b_proj        (B·n, d)
type mamba2[T Number] struct {
	QKV    Layer[T]      // (d, H(2dρ+dh))
	Step   Layer[T]      // z  (d, H)
	A, D   Matrix[T]     // (1, H)
	QK     int           // H·dρ
	States headStates[T] // S of every head
	Gate   Layer[T]      // (d, H·dh)
	Norm   Layer[T]      // of the features of all heads
	Proj   Layer[T]      // (H·dh, d)
	Drop   Dropout[T]
}

// mamba2Pass holds what the backward pass needs of the forward pass.
type mamba2Pass[T Number] struct{ q, k, v, z, steps, decay, o, raw, gated Matrix[T] }

// pass computes everything before the norm.
func (l mamba2[T]) pass(x Matrix[T]) (p mamba2Pass[T]) {
	p.q, p.k, p.v = splitPacked(forward("c_attn", l.QKV, x), l.QK, l.QK)
	p.z = forward("c_decay", l.Step, x)
	p.steps = softplus(p.z)
	p.decay = p.steps.Mul(l.A.Exp().Scale(-1)) // ln α
	read := l.States.read(p.q, p.k, p.v, p.decay, p.steps)
	p.o = read.Add(p.v.Mul(l.D.features(p.v)))
	p.raw = forward("c_gate", l.Gate, x)
	p.gated = SiLU[T]{}.Forward(p.raw).Mul(p.o)
	return p
}

// Forward applies the heads between the projections.
func (l mamba2[T]) Forward(x Matrix[T]) Matrix[T] {
	normed := forward("norm", l.Norm, l.pass(x).gated)
	return l.Drop.Forward(forward("c_proj", l.Proj, normed))
}

// Backward carries Δ through the norm, the product with the gate and the recurrence to the projections. The time steps
// get Δ from the values that they write and from the gates:
//
//	Δz = (Δβ − e^a ∘ Δ(ln α)) ∘ σ(z)    ∂a = Σ Δ(ln α) ∘ ln α
//	∂D = Σ Δo ∘ v, over the tokens and the features of a head
func (l mamba2[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	p := l.pass(x)
	normed := forward("norm", l.Norm, p.gated)
	d, _ := l.Drop.Backward(normed, delta)
	dheads, proj := backward("c_proj", l.Proj, normed, d)
	dgated, norm := backward("norm", l.Norm, p.gated, dheads)
	draw, _ := SiLU[T]{}.Backward(p.raw, dgated.Mul(p.o))
	dx, gates := backward("c_gate", l.Gate, x, draw)

	do := dgated.Mul(SiLU[T]{}.Forward(p.raw)) // Δo
	grads := l.States.back(p.q, p.k, p.v, p.decay, p.steps, do)
	dq, dk, dv, dg, dbeta := grads[0], grads[1], grads[2], grads[3], grads[4]
	dv = dv.Add(do.Mul(l.D.features(p.v)))
	more, qkv := backward("c_attn", l.QKV, x, JoinColumns(dq, dk, dv))
	dx = dx.Add(more)
	dz := dbeta.Add(dg.Mul(l.A.Exp().Scale(-1))).Mul(sigmoid(p.z))
	more, step := backward("c_decay", l.Step, x, dz)
	step = append(step, gradient(l.A, "a_log", "a", "Σ Δ ∘ ln α", dg.Mul(p.decay).SumTokens())...)
	return dx.Add(more), slices.Concat(
		qkv.In("c_attn", ""), step.In("c_decay", "_Δ"),
		gradient(l.D, "d_skip", "D", "Σ Δ ∘ v", do.Mul(p.v).SumTokens().perGate(l.D)),
		norm.In("norm", ""), gates.In("c_gate", "_g"),
		deltaAt("heads", "Δ₃ = Δ₅ w₃ᵗ", dheads),
		proj.by("a₃ᵗΔ₅", "ΣΔ₅").In("c_proj", "₃"),
		deltaAt("c_proj", "Δ₅, dispatched to a₄", d),
	)
}

// sharedQK repeats the queries and keys of every group in [q | k | v] for each of its heads.
type sharedQK[T Number] struct {
	qk    int      // G·dρ
	heads Heads[T] // with their groups
}

// repeat returns what every head has: (n, G·dρ) → (n, H·dρ).
func (l sharedQK[T]) repeat(x Matrix[T]) Matrix[T] {
	heads := Zeros[T](1, max(1, l.heads.Count)) // one column for each
	return l.heads.repeat(heads, x)
}

// Forward returns [q | k | v].
func (l sharedQK[T]) Forward(x Matrix[T]) Matrix[T] {
	q, k, v := splitPacked(x, l.qk, l.qk)
	return JoinColumns(l.repeat(q), l.repeat(k), v)
}

// Backward returns the sums of Δ over the heads of every group.
func (l sharedQK[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	all := l.repeat(x.Columns(0, l.qk)).Cols // H·dρ
	dq, dk, dv := splitPacked(delta, all, all)
	return JoinColumns(l.heads.sum(dq), l.heads.sum(dk), dv), nil
}

// Mamba2 returns the layer of Mamba-2 with at.c_attn, at.c_attn.conv, at.c_decay, at.d_skip, at.c_gate, at.norm and
// at.c_proj, for sequences of length tokens. The queries of all heads have qk features, and groups of heads share them.
func (at Site[T]) Mamba2(batch, heads, groups, qk, length int, rotary Layer[T]) Layer[T] {
	attn, decay := at.At("c_attn"), at.At("c_decay")
	shared := Heads[T]{Batch: batch, Count: heads, Groups: groups}
	own := shared.keys(qk) // of the groups
	projection := chain[T]{
		{"", attn.Packed(own, own)}, {"conv", attn.shortConv(length)}, {"", SiLU[T]{}},
	}.rotated(own, rotary)
	return mamba2[T]{
		QKV:  append(projection, link[T]{"", sharedQK[T]{own, shared}}),
		Step: decay.Linear(), A: decay.Param("a_log"), D: at.Param("d_skip"),
		QK: qk, States: headStates[T]{Batch: batch, Heads: heads, Before: at.Optional("state")},
		Gate: at.At("c_gate").Linear(), Norm: at.At("norm").RMSNorm(), Proj: at.At("c_proj").Linear(),
		Drop: at.Drop("resid_dropout"),
	}
}
