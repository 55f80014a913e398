package verify

import "math"

// MLA is multi-head latent attention (R. Xu): keys and values of all heads are made
// from one narrow latent of the token.
//
//	Wq (d, H·dρ), Down (d, dc), UpK (dc, H·dρ), UpV (dc, H·dh), Wo (H·dh, d), Bo (1, d)
type MLA[T Number] struct {
	Wq, Down, UpK, UpV, Wo, Bo Matrix[T]
}

// MLAForward makes queries, keys and values, and the rest is any multi-headed attention.
//
//	(B·n, d) → (B·n, d)                         Xu (37)–(40), (57)
func MLAForward[T Number](x Matrix[T], p MLA[T], m MultiHead) Matrix[T] {
	out := MultiHeadForward(p.packed(x, x.MatMul(p.Down)), m) // ρ_h v_h side by side  (B·n, H·dh), erratum X7
	return LinearForward(out, p.Wo, p.Bo)                     // Σ_h ρ_h v_h w_o,h + b (B·n, d)
}

func (p MLA[T]) packed(x, latent Matrix[T]) Matrix[T] {
	q := x.MatMul(p.Wq)       // x w_q        (B·n, H·dρ)  Xu (38)
	k := latent.MatMul(p.UpK) // L w↑_k       (B·n, H·dρ)  Xu (38)
	v := latent.MatMul(p.UpV) // L w↑_v       (B·n, H·dh)  Xu (38)
	return JoinColumns(q, k, v)
}

// MLABackward adds up at the latent what comes back from keys and values, and at the
// input what comes back from the queries and the latent.
func MLABackward[T Number](x Matrix[T], p MLA[T], m MultiHead, delta Matrix[T]) (dx Matrix[T], g MLA[T]) {
	latent := x.MatMul(p.Down)
	packed, qk := p.packed(x, latent), p.Wq.Cols
	var d, fromQ, fromK, fromV, fromL Matrix[T]
	d, g.Wo, g.Bo = LinearBackward(MultiHeadForward(packed, m), p.Wo, delta)
	d = MultiHeadBackward(packed, m, d)
	fromQ, g.Wq, _ = LinearBackward(x, p.Wq, d.Columns(0, qk))
	fromK, g.UpK, _ = LinearBackward(latent, p.UpK, d.Columns(qk, 2*qk))     // ∂w↑_k = LᵗΔ_k
	fromV, g.UpV, _ = LinearBackward(latent, p.UpV, d.Columns(2*qk, d.Cols)) // ∂w↑_v = LᵗΔ_v
	fromL, g.Down, _ = LinearBackward(x, p.Down, fromK.Add(fromV))           // Δ_L = Δ_k w↑_kᵗ + Δ_v w↑_vᵗ
	return fromQ.Add(fromL), g
}

// MLAAbsorbedForward never makes a key or a value: the way up to the keys is absorbed
// into the queries, the way up to the values into the output, and every head attends
// to the latents themselves.
//
//	ρ_h = softmax(x (w_q,h w↑_k,hᵗ) Lᵗ/√dρ + M)                    Xu (41)
//	y   = Σ_h ρ_h L (w↑_v,h w_o,h) + b                             Xu (46), (57)
//
// It is for decoding: the absorbed matrices (d, dc) and (dc, d) are larger than their
// factors wherever d and dc exceed 2dρ, that of the output wherever they exceed 2dh
// (erratum X6).
func MLAAbsorbedForward[T Number](x Matrix[T], p MLA[T], m MultiHead) Matrix[T] {
	latent := x.MatMul(p.Down)
	y := Zeros[T](x.Rows, p.Wo.Cols)
	for h := range m.Heads {
		queries, out := p.absorbed(h, m)
		attended := attendLatents(x.MatMul(queries), latent, m) // ρ_h L   (B·n, dc)
		y = y.Add(attended.MatMul(out))                         //         (B·n, d)
	}
	return y.plus(p.Bo)
}

// MLAAbsorbedBackward differentiates by the absorbed matrices first, then by their
// factors.
func MLAAbsorbedBackward[T Number](x Matrix[T], p MLA[T], m MultiHead, delta Matrix[T]) (dx Matrix[T], g MLA[T]) {
	latent := x.MatMul(p.Down)
	dx, dlatent := Zeros[T](x.Rows, x.Cols), Zeros[T](latent.Rows, latent.Cols)
	var wq, upK, upV, wo []Matrix[T]
	for h := range m.Heads {
		own := p.head(h, m)
		queries, out := p.absorbed(h, m)
		q := x.MatMul(queries)
		d, dout, _ := LinearBackward(attendLatents(q, latent, m), out, delta)
		dq, dl := attendLatentsBackward(q, latent, m, d)
		fromQ, dqueries, _ := LinearBackward(x, queries, dq)
		dx, dlatent = dx.Add(fromQ), dlatent.Add(dl)
		wq, upK = append(wq, dqueries.MatMul(own.UpK)), append(upK, dqueries.Transpose().MatMul(own.Wq))
		upV, wo = append(upV, dout.MatMul(own.Wo.Transpose())), append(wo, own.UpV.Transpose().MatMul(dout))
	}
	g = MLA[T]{Wq: JoinColumns(wq...), UpK: JoinColumns(upK...), UpV: JoinColumns(upV...), Wo: JoinTokens(wo...), Bo: delta.SumTokens()}
	fromL, down, _ := LinearBackward(x, p.Down, dlatent)
	g.Down = down
	return dx.Add(fromL), g
}

// head is what belongs to head h alone.
func (p MLA[T]) head(h int, m MultiHead) MLA[T] {
	size := p.UpV.Cols / m.Heads
	return MLA[T]{
		Wq: p.Wq.Columns(h*m.QK, (h+1)*m.QK), UpK: p.UpK.Columns(h*m.QK, (h+1)*m.QK),
		UpV: p.UpV.Columns(h*size, (h+1)*size), Wo: p.Wo.Tokens(h*size, (h+1)*size),
	}
}

// absorbed returns w_q,h w↑_k,hᵗ (d, dc) and w↑_v,h w_o,h (dc, d).
func (p MLA[T]) absorbed(h int, m MultiHead) (queries, out Matrix[T]) {
	own := p.head(h, m)
	return own.Wq.MatMul(own.UpK.Transpose()), own.UpV.MatMul(own.Wo)
}

// attendLatents is softmax(q Lᵗ/√dρ + M) L, sequence by sequence: the latents are keys
// and values at once.
func attendLatents[T Number](q, latent Matrix[T], m MultiHead) Matrix[T] {
	parts := make([]Matrix[T], m.Batch)
	for b := range parts {
		q, l := sequence(q.Scale(overScale(q, m)), m, b), sequence(latent, m, b)
		parts[b] = AttentionForward(q, l, l, m.mask(b), Matrix[float64]{})
	}
	return JoinTokens(parts...)
}

func attendLatentsBackward[T Number](q, latent Matrix[T], m MultiHead, delta Matrix[T]) (dq, dlatent Matrix[T]) {
	var queries, latents []Matrix[T]
	for b := range m.Batch {
		q, l := sequence(q.Scale(overScale(q, m)), m, b), sequence(latent, m, b)
		dq, dk, dv := AttentionBackward(q, l, l, m.mask(b), Matrix[float64]{}, sequence(delta, m, b))
		queries, latents = append(queries, dq), append(latents, dk.Add(dv))
	}
	return JoinTokens(queries...).Scale(overScale(q, m)), JoinTokens(latents...)
}

// overScale turns AttentionForward's 1/√dc into the 1/√dρ of the scores as they were
// before the absorption.
func overScale[T Number](q Matrix[T], m MultiHead) float64 {
	return math.Sqrt(float64(q.Cols) / float64(m.QK))
}

func sequence[T Number](x Matrix[T], m MultiHead, b int) Matrix[T] {
	n := x.Rows / m.Batch
	return x.Tokens(b*n, (b+1)*n)
}
