package hand

import "slices"

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
