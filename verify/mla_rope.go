package verify

// MLARoPE is latent attention whose positions are rotary in features of their own (R.
// Xu (60)–(68)): what turns cannot be absorbed, so queries and keys of a head have a part
// that does not turn and one that does, and the turning part of the key is one for all
// heads (erratum X5). Queries come from a latent too.
//
//	DownQ (d, dq), UpQ (dq, H·dρ), TurnQ (dq, H·dR), Down (d, dc), UpK (dc, H·dρ),
//	TurnK (d, dR) or (dc, dR), UpV (dc, H·dh), Wo (H·dh, d), Bo (1, d)
type MLARoPE[T Number] struct {
	DownQ, UpQ, TurnQ, Down, UpK, TurnK, UpV, Wo, Bo Matrix[T]
}

// MLARoPEForward makes the turning keys from the token, k^R = RoPE(x w_k^R), as
// DeepSeek's published code does. m.QK is dρ; r's Size dR; Groups is seen to here.
//
//	(B·n, d) → (B·n, d)
func MLARoPEForward[T Number](x Matrix[T], p MLARoPE[T], m MultiHead, r Rotary) Matrix[T] {
	return p.forward(p.latents(x), x, m, r)
}

// MLARoPEBackward adds the Δ of the turning keys to the Δ of the input.
func MLARoPEBackward[T Number](x Matrix[T], p MLARoPE[T], m MultiHead, r Rotary, delta Matrix[T]) (dx Matrix[T], g MLARoPE[T]) {
	l := p.latents(x)
	d, dsource, g := p.backward(l, x, m, r, delta)
	return p.latentsBackward(x, d, &g).Add(dsource), g
}

// MLARoPELatentForward makes the turning keys from the latent, k^R = RoPE(c w_k^R), as
// Xu (65) has it.
func MLARoPELatentForward[T Number](x Matrix[T], p MLARoPE[T], m MultiHead, r Rotary) Matrix[T] {
	l := p.latents(x)
	return p.forward(l, l.kv, m, r)
}

// MLARoPELatentBackward adds the Δ of the turning keys to the Δ of the latent.
func MLARoPELatentBackward[T Number](x Matrix[T], p MLARoPE[T], m MultiHead, r Rotary, delta Matrix[T]) (dx Matrix[T], g MLARoPE[T]) {
	l := p.latents(x)
	d, dsource, g := p.backward(l, l.kv, m, r, delta)
	d.kv = d.kv.Add(dsource)
	return p.latentsBackward(x, d, &g), g
}

// latents are those of queries and of keys and values, or their Δ.
type latents[T Number] struct{ q, kv Matrix[T] }

func (p MLARoPE[T]) latents(x Matrix[T]) latents[T] {
	return latents[T]{x.MatMul(p.DownQ), x.MatMul(p.Down)}
}

func (p MLARoPE[T]) latentsBackward(x Matrix[T], d latents[T], g *MLARoPE[T]) (dx Matrix[T]) {
	var fromQ, fromKV Matrix[T]
	fromQ, g.DownQ, _ = LinearBackward(x, p.DownQ, d.q)
	fromKV, g.Down, _ = LinearBackward(x, p.Down, d.kv)
	return fromQ.Add(fromKV)
}

func (p MLARoPE[T]) forward(l latents[T], source Matrix[T], m MultiHead, r Rotary) Matrix[T] {
	packed := p.packed(l, source, m, r)
	return LinearForward(MultiHeadForward(packed, widened(m, r)), p.Wo, p.Bo)
}

// packed is [q | k | v] with queries and keys of dρ + dR features, hence the scale
// 1/√(dρ+dR) of Xu (62).
func (p MLARoPE[T]) packed(l latents[T], source Matrix[T], m MultiHead, r Rotary) Matrix[T] {
	qR := RoPEForward(l.q.MatMul(p.TurnQ), r.groups(m.Heads)) // RoPE(c^Q w_q^R)  (B·n, H·dR)  Xu (63)
	kR := RoPEForward(source.MatMul(p.TurnK), r.groups(1))    // k^R              (B·n, dR)    Xu (65)
	qC, kC := l.q.MatMul(p.UpQ), l.kv.MatMul(p.UpK)           // c^Q w↑_q, c w↑_k (B·n, H·dρ)  Xu (63), (65)
	var q, k []Matrix[T]
	for h := range m.Heads {
		q = append(q, qC.Columns(h*m.QK, (h+1)*m.QK), qR.Columns(h*r.Size, (h+1)*r.Size))
		k = append(k, kC.Columns(h*m.QK, (h+1)*m.QK), kR)
	}
	v := l.kv.MatMul(p.UpV) // c w↑_v  (B·n, H·dh)  Xu (66)
	return JoinColumns(append(append(q, k...), v)...)
}

// backward takes apart what packed has put together; the turning keys get the sum over
// the heads.
func (p MLARoPE[T]) backward(l latents[T], source Matrix[T], m MultiHead, r Rotary, delta Matrix[T]) (d latents[T], dsource Matrix[T], g MLARoPE[T]) {
	packed, wide := p.packed(l, source, m, r), widened(m, r)
	var dpacked Matrix[T]
	dpacked, g.Wo, g.Bo = LinearBackward(MultiHeadForward(packed, wide), p.Wo, delta)
	dpacked = MultiHeadBackward(packed, wide, dpacked)
	part := func(at, from, to int) Matrix[T] { return dpacked.Columns(at*wide.QK+from, at*wide.QK+to) }
	var qC, qR, kC []Matrix[T]
	kR := Zeros[T](source.Rows, r.Size)
	for h := range m.Heads {
		qC, qR = append(qC, part(h, 0, m.QK)), append(qR, part(h, m.QK, wide.QK))
		kC, kR = append(kC, part(m.Heads+h, 0, m.QK)), kR.Add(part(m.Heads+h, m.QK, wide.QK))
	}
	var fromC, fromR, fromK, fromV Matrix[T]
	fromC, g.UpQ, _ = LinearBackward(l.q, p.UpQ, JoinColumns(qC...))
	fromR, g.TurnQ, _ = LinearBackward(l.q, p.TurnQ, RoPEBackward(r.groups(m.Heads), JoinColumns(qR...)))
	fromK, g.UpK, _ = LinearBackward(l.kv, p.UpK, JoinColumns(kC...))
	fromV, g.UpV, _ = LinearBackward(l.kv, p.UpV, dpacked.Columns(2*m.Heads*wide.QK, dpacked.Cols))
	dsource, g.TurnK, _ = LinearBackward(source, p.TurnK, RoPEBackward(r.groups(1), kR))
	return latents[T]{fromC.Add(fromR), fromK.Add(fromV)}, dsource, g
}

func (r Rotary) groups(n int) Rotary { r.Groups = n; return r }

func widened(m MultiHead, r Rotary) MultiHead { m.QK += r.Size; return m }
