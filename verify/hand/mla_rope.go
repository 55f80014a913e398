package hand

import "slices"

// MLARoPE is latent attention with rotary positions in separate features (R. Xu (60)–(68)). Rotating features cannot be
// absorbed, so the queries and keys of a head have a part that does not rotate and a part that does. The rotating part
// of the key is shared by all heads (erratum X5). The queries come from a latent too.
//
// The rotating keys are computed from the token, k^R = RoPE(x w_k^R), as in DeepSeek's published code. With FromLatent
// they are computed from the latent, k^R = RoPE(c w_k^R), as in Xu (65).
type MLARoPE[T Number] struct {
	DownQ, UpQ, RoPEQ     Layer[T] // (d, dq), (dq, H·dρ), (dq, H·dR)
	Down, UpK, RoPEK, UpV Layer[T] // (d, dc), (dc, H·dρ), (d or dc, dR), (dc, H·dh)
	FromLatent            bool
	Rotary                Layer[T] // of groups of dR features
	Heads                 Heads[T]
	Proj                  Layer[T] // (H·dh, d)
	Drop                  Dropout[T]
}

// mlaRoPE holds the activations of the layer.
type mlaRoPE[T Number] struct {
	latentQ, latent, source Matrix[T] // c^Q, c, and the input of the rotating keys
	rawQ, rawK              Matrix[T] // before their rotation
	q, k, v                 Matrix[T]
	content, count          int // H·dρ, H
}

func (l MLARoPE[T]) queries(x Matrix[T]) (a mlaRoPE[T]) {
	// c^Q (B·n, dq), c (B·n, dc)                Xu (60), (37)
	a.latentQ, a.latent, a.source = forward("c_q_down", l.DownQ, x), forward("c_kv_down", l.Down, x), x
	if l.FromLatent {
		a.source = a.latent
	}
	a.rawQ, a.rawK = forward("c_q_rope", l.RoPEQ, a.latentQ), forward("c_k_rope", l.RoPEK, a.source)
	// (B·n, H·dR), (B·n, dR)                    Xu (63), (65)
	qR, kR := forward("rotary", l.Rotary, a.rawQ), forward("rotary", l.Rotary, a.rawK)
	// (B·n, H·dρ)                               Xu (61), (65)
	qC, kC := forward("c_q_up", l.UpQ, a.latentQ), forward("c_k_up", l.UpK, a.latent)
	if a.count = l.Heads.Count; !shares(qC.Cols, a.count) {
		qC, a.count = within("heads", qC, failed[T]("(%d, %d) for %d heads", qC.Rows, qC.Cols, a.count)), 1
	}
	a.q = sideBySide(qC, qR, a.count)                    // (B·n, H(dρ+dR))
	a.k = sideBySide(kC, repeated(kR, a.count), a.count) // hence the scale 1/√(dρ+dR) of Xu (62)
	a.v = forward("c_v_up", l.UpV, a.latent)             // (B·n, H·dh)             Xu (66)
	a.content = qC.Cols
	return a
}

// Forward computes attention over both parts.
//
//	(B·n, d) → (B·n, d)
func (l MLARoPE[T]) Forward(x Matrix[T]) Matrix[T] {
	a := l.queries(x)
	return l.Drop.Forward(forward("c_proj", l.Proj, l.Heads.Forward(a.q, a.k, a.v)))
}

// Backward separates the two parts that queries joined. The rotating key gets the sum over the heads.
func (l MLARoPE[T]) Backward(x, d5 Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	a := l.queries(x)
	heads := l.Heads.Forward(a.q, a.k, a.v)
	d4, _ := l.Drop.Backward(heads, d5)
	d3, proj := backward("c_proj", l.Proj, heads, d4)
	dq, dk, dv := l.Heads.Backward(a.q, a.k, a.v, d3)
	dqC, dqR := apart(dq, a.content, a.count)
	dkC, dkR := apart(dk, a.content, a.count)

	fromV, upV := backward("c_v_up", l.UpV, a.latent, dv)
	fromC, upQ := backward("c_q_up", l.UpQ, a.latentQ, dqC)
	dqR, _ = backward("rotary", l.Rotary, a.rawQ, dqR)
	fromR, ropeQ := backward("c_q_rope", l.RoPEQ, a.latentQ, dqR)
	dx, downQ := backward("c_q_down", l.DownQ, x, fromC.Add(fromR))
	fromK, upK := backward("c_k_up", l.UpK, a.latent, dkC)
	dlatent := fromV.Add(fromK)
	dkR, _ = backward("rotary", l.Rotary, a.rawK, overHeads(dkR, a.count))
	dsource, ropeK := backward("c_k_rope", l.RoPEK, a.source, dkR)
	if l.FromLatent {
		dlatent = dlatent.Add(dsource)
	} else {
		dx = dx.Add(dsource)
	}
	fromL, down := backward("c_kv_down", l.Down, x, dlatent)
	return dx.Add(fromL), slices.Concat(
		downQ.latent("c_q_down", "w↓_q", "Xu (60)"),
		ropeQ.latent("c_q_rope", "w_qR", "Xu (63)"),
		upQ.latent("c_q_up", "w↑_q", "Xu (61)"),
		down.latent("c_kv_down", "w↓", "Xu (37)"),
		ropeK.latent("c_k_rope", "w_kR", "Xu (65)"),
		upK.latent("c_k_up", "w↑_k", "Xu (38)"),
		upV.latent("c_v_up", "w↑_v", "Xu (38)"),
		deltaAt("heads", "Δ₃ = Δ₅ w₃ᵗ", d3),
		proj.by("a₃ᵗΔ₅", "ΣΔ₅").In("c_proj", "₃"),
		deltaAt("c_proj", "Δ₅, dispatched to a₄", d4),
	)
}

// sideBySide returns the two parts of every head side by side; apart is its inverse.
func sideBySide[T Number](a, b Matrix[T], heads int) Matrix[T] {
	if err := firstErr(a, b); err == nil && !(shares(a.Cols, heads) && shares(b.Cols, heads)) {
		return failed[T]("(%d, %d) beside (%d, %d) in %d heads", a.Rows, a.Cols, b.Rows, b.Cols, heads)
	}
	var parts []Matrix[T]
	m, n := a.Cols/heads, b.Cols/heads
	for h := range heads {
		parts = append(parts, a.Columns(h*m, (h+1)*m), b.Columns(h*n, (h+1)*n))
	}
	return Join(parts...)
}

func apart[T Number](x Matrix[T], content, heads int) (a, b Matrix[T]) {
	var as, bs []Matrix[T]
	width, m := x.Cols/heads, content/heads
	for h := range heads {
		as = append(as, x.Columns(h*width, h*width+m))
		bs = append(bs, x.Columns(h*width+m, (h+1)*width))
	}
	return Join(as...), Join(bs...)
}

func repeated[T Number](x Matrix[T], times int) Matrix[T] {
	parts := make([]Matrix[T], times)
	for i := range parts {
		parts[i] = x
	}
	return Join(parts...)
}

func overHeads[T Number](x Matrix[T], heads int) Matrix[T] {
	w := x.Cols / heads
	sum := x.Columns(0, w)
	for h := 1; h < heads; h++ {
		sum = sum.Add(x.Columns(h*w, (h+1)*w))
	}
	return sum
}

// MLARoPE returns the layer with at.c_q_down, at.c_q_up, at.c_q_rope, at.c_kv_down, at.c_k_up, at.c_k_rope, at.c_v_up
// and at.c_proj.
func (at Site[T]) MLARoPE(heads Heads[T], rotary Layer[T], fromLatent bool) Layer[T] {
	return MLARoPE[T]{
		DownQ: at.At("c_q_down").Linear(), UpQ: at.At("c_q_up").Linear(), RoPEQ: at.At("c_q_rope").Linear(),
		Down: at.At("c_kv_down").Linear(), UpK: at.At("c_k_up").Linear(), RoPEK: at.At("c_k_rope").Linear(),
		UpV: at.At("c_v_up").Linear(), FromLatent: fromLatent, Rotary: rotary, Heads: heads,
		Proj: at.At("c_proj").Linear(), Drop: at.Drop("resid_dropout"),
	}
}
