package hand

import (
	"math"
	"slices"
)

// MLA is multi-head latent attention (R. Xu): the keys and values of all heads are computed from one narrow latent of
// the token.
type MLA[T Number] struct {
	Query, Down, UpK, UpV Layer[T] // (d, H·dρ), (d, dc), (dc, H·dρ), (dc, H·dh)
	Heads                 Heads[T]
	Proj                  Layer[T] // (H·dh, d)
	Drop                  Dropout[T]
}

func (l MLA[T]) queries(x Matrix[T]) (latent, q, k, v Matrix[T]) {
	latent = forward("c_kv_down", l.Down, x) // L = x w↓    (B·n, dc)    Xu (37)
	q = forward("c_q", l.Query, x)           // x w_q       (B·n, H·dρ)  Xu (38)
	k = forward("c_k_up", l.UpK, latent)     // L w↑_k      (B·n, H·dρ)  Xu (38)
	v = forward("c_v_up", l.UpV, latent)     // L w↑_v      (B·n, H·dh)  Xu (38)
	return latent, q, k, v
}

// Forward computes queries, keys and values; the rest is ordinary multi-headed attention.
//
//	(B·n, d) → (B·n, d)                         Xu (37)–(40), (57)
func (l MLA[T]) Forward(x Matrix[T]) Matrix[T] {
	_, q, k, v := l.queries(x)
	heads := l.Heads.Forward(q, k, v)                       // ρ_h v_h side by side  (B·n, H·dh), erratum X7
	return l.Drop.Forward(forward("c_proj", l.Proj, heads)) // Σ_h ρ_h v_h w_o,h + b (B·n, d)
}

// Backward adds the Δ of keys and values at the latent, and the Δ of the queries and of the latent at the input.
func (l MLA[T]) Backward(x, d5 Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	latent, q, k, v := l.queries(x)
	heads := l.Heads.Forward(q, k, v)
	d4, _ := l.Drop.Backward(heads, d5)
	d3, proj := backward("c_proj", l.Proj, heads, d4)
	dq, dk, dv := l.Heads.Backward(q, k, v, d3)
	fromV, upV := backward("c_v_up", l.UpV, latent, dv)               // ∂w↑_v = LᵗΔ_v
	fromK, upK := backward("c_k_up", l.UpK, latent, dk)               // ∂w↑_k = LᵗΔ_k
	fromQ, query := backward("c_q", l.Query, x, dq)                   // ∂w_q  = xᵗΔ_q
	fromL, down := backward("c_kv_down", l.Down, x, fromV.Add(fromK)) // Δ_L = Δ_k w↑_kᵗ + Δ_v w↑_vᵗ
	return fromQ.Add(fromL), slices.Concat(
		query.latent("c_q", "w_q", "Xu (38)"),
		down.latent("c_kv_down", "w↓", "Xu (37)"),
		upK.latent("c_k_up", "w↑_k", "Xu (38)"),
		upV.latent("c_v_up", "w↑_v", "Xu (38)"),
		deltaAt("heads", "Δ₃ = Δ₅ w₃ᵗ", d3),
		proj.by("a₃ᵗΔ₅", "ΣΔ₅").In("c_proj", "₃"),
		deltaAt("c_proj", "Δ₅, dispatched to a₄", d4),
	)
}

// latent sets the symbol and the equation of a matrix of latent attention, as in Xu.
func (g Gradients[T]) latent(name, symbol, equation string) Gradients[T] {
	for i := range g {
		if g[i].Name == "weight" {
			g[i].Symbol, g[i].Equation = symbol, equation
		}
	}
	return g.In(name, "")
}

// MLA returns the layer with at.c_q, at.c_kv_down, at.c_k_up, at.c_v_up and at.c_proj.
func (at Site[T]) MLA(heads Heads[T]) Layer[T] {
	return MLA[T]{
		at.At("c_q").Linear(), at.At("c_kv_down").Linear(), at.At("c_k_up").Linear(), at.At("c_v_up").Linear(),
		heads, at.At("c_proj").Linear(), at.Drop("resid_dropout"),
	}
}

// MLAAbsorbed is MLA without keys or values: the way up to the keys is absorbed into the queries, the way up to the
// values into the output, and every head attends to the latents themselves.
//
//	ρ_h = softmax(x (w_q,h w↑_k,hᵗ) Lᵗ/√dρ + M)                    Xu (41)
//	y   = Σ_h ρ_h L (w↑_v,h w_o,h) + b                             Xu (46), (57)
//
// It is for decoding. The absorbed matrix (d, dc) of the queries is larger than its factors if d and dc exceed 2dρ,
// the absorbed matrix of the output, (dc, d), if they exceed 2dh (erratum X6). It equals MLA by √(dc/dρ)/√dc = 1/√dρ,
// and the roots of the exact road multiply; no law of the exponential is needed.
type MLAAbsorbed[T Number] struct {
	Wq, Down, UpK, UpV, Wo, Bo Matrix[T] // (d, H·dρ), (d, dc), (dc, H·dρ), (dc, H·dh), (H·dh, d), (1, d)
	Batch, Heads               int
	Mask                       Matrix[float64]
}

// Forward returns the sum of the heads' outputs.
func (l MLAAbsorbed[T]) Forward(x Matrix[T]) Matrix[T] {
	l = l.shared()
	latent := x.MatMul(l.Down)
	y := Zeros[T](latent.Rows, l.Wo.Cols)
	for h := range l.Heads {
		queries, out := l.absorbed(h)
		q := x.MatMul(queries).Scale(l.overScale())
		y = y.Add(l.attend().Forward(q, latent, latent).MatMul(out)) // ρ_h L w↑_v,h w_o,h  (B·n, d)
	}
	return y.plus(l.Bo)
}

// Backward differentiates by the absorbed matrices first, then by their factors.
func (l MLAAbsorbed[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	l = l.shared()
	latent, attend := x.MatMul(l.Down), l.attend()
	dx, dlatent := Zeros[T](latent.Rows, l.Wq.Rows), Zeros[T](latent.Rows, latent.Cols)
	var wq, upK, upV, wo []Matrix[T]
	for h := range l.Heads {
		own := l.head(h)
		queries, out := l.absorbed(h)
		q := x.MatMul(queries).Scale(l.overScale())
		dout := attend.Forward(q, latent, latent).Transpose().MatMul(delta)
		dq, dk, dv := attend.Backward(q, latent, latent, delta.MatMul(out.Transpose()))
		dq = dq.Scale(l.overScale())
		dqueries := x.Transpose().MatMul(dq)
		dx, dlatent = dx.Add(dq.MatMul(queries.Transpose())), dlatent.Add(dk.Add(dv))
		wq, upK = append(wq, dqueries.MatMul(own.UpK)), append(upK, dqueries.Transpose().MatMul(own.Wq))
		upV, wo = append(upV, dout.MatMul(own.Wo.Transpose())), append(wo, own.UpV.Transpose().MatMul(dout))
	}
	return dx.Add(dlatent.MatMul(l.Down.Transpose())), slices.Concat(
		gradient(l.Wq, "c_q.weight", "w_q", "Xu (38)", Join(wq...)),
		gradient(l.Down, "c_kv_down.weight", "w↓", "Xu (37)", x.Transpose().MatMul(dlatent)),
		gradient(l.UpK, "c_k_up.weight", "w↑_k", "Xu (41)", Join(upK...)),
		gradient(l.UpV, "c_v_up.weight", "w↑_v", "Xu (46)", Join(upV...)),
		gradient(l.Wo, "c_proj.weight", "w₃", "a₃ᵗΔ₅", JoinTokens(wo...)),
		gradient(l.Bo, "c_proj.bias", "b₃", "ΣΔ₅", delta.SumTokens()),
	)
}

// shared returns l if the heads divide its columns, and otherwise one head with the error.
func (l MLAAbsorbed[T]) shared() MLAAbsorbed[T] {
	err := firstErr(l.Wq, l.UpV, l.Wo)
	if err == nil && !(shares(l.Wq.Cols, l.Heads) && shares(l.UpV.Cols, l.Heads) && l.UpV.Cols == l.Wo.Rows) {
		err = failed[T]("(%d, %d), (%d, %d) and (%d, %d) for %d heads",
			l.Wq.Rows, l.Wq.Cols, l.UpV.Rows, l.UpV.Cols, l.Wo.Rows, l.Wo.Cols, l.Heads).Err
	}
	if err != nil {
		l.Heads, l.Wq, l.UpV, l.Wo = 1, Matrix[T]{Err: err}, Matrix[T]{Err: err}, Matrix[T]{Err: err}
	}
	return l
}

// head returns the part of the parameters that belongs to head h.
func (l MLAAbsorbed[T]) head(h int) MLAAbsorbed[T] {
	qk, v := l.Wq.Cols/l.Heads, l.UpV.Cols/l.Heads
	return MLAAbsorbed[T]{
		Wq: l.Wq.Columns(h*qk, (h+1)*qk), UpK: l.UpK.Columns(h*qk, (h+1)*qk),
		UpV: l.UpV.Columns(h*v, (h+1)*v), Wo: l.Wo.Tokens(h*v, (h+1)*v),
	}
}

// absorbed returns w_q,h w↑_k,hᵗ (d, dc) and w↑_v,h w_o,h (dc, d).
func (l MLAAbsorbed[T]) absorbed(h int) (queries, out Matrix[T]) {
	own := l.head(h)
	return own.Wq.MatMul(own.UpK.Transpose()), own.UpV.MatMul(own.Wo)
}

// attend returns softmax(q Lᵗ/√dc + M) L, sequence by sequence: the latents are both keys and values.
func (l MLAAbsorbed[T]) attend() Heads[T] {
	return Heads[T]{Batch: l.Batch, Count: 1, Head: func(int, int) Head[T] { return Attention[T]{Mask: l.Mask} }}
}

// overScale returns √(dc/dρ), which turns the 1/√dc of attention into the 1/√dρ of the scores before the absorption.
func (l MLAAbsorbed[T]) overScale() float64 {
	return math.Sqrt(float64(l.UpK.Rows) / float64(l.Wq.Cols/l.Heads))
}
