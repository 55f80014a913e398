package hand

import "math"

// ForgettingAttention is a head of attention that forgets (Lin et al. 2025). The last feature of its queries is the
// running sum c_i = Σ_{l≤i} ln f_l of the gates of the head's tokens, which attend to themselves.
//
//	ρ = softmax(q kᵗ/√dρ + c − cᵗ + M),  a = (ρ ∘ drop) v       (n, dh)
type ForgettingAttention[T Number] struct {
	Mask Matrix[float64] // (n, n)
	Drop Dropout[T]      // of the weights
}

// Weights returns ρ, for queries (n, dρ+1).
func (a ForgettingAttention[T]) Weights(q, k Matrix[T]) Matrix[T] {
	q, c := lastFeature(q)
	scaled := q.MatMul(k.Transpose()).Scale(1 / math.Sqrt(float64(q.Cols))) // q kᵗ/√dρ    (n, n)
	return scaled.Add(c).Sub(c.Transpose()).plus(Lift[T](a.Mask)).Softmax() // ρ           (n, n)
}

// lastFeature returns the features before the last, and the last.
func lastFeature[T Number](x Matrix[T]) (before, last Matrix[T]) {
	return x.Columns(0, x.Cols-1), x.Columns(x.Cols-1, x.Cols)
}

// Forward returns (ρ ∘ drop) v.
func (a ForgettingAttention[T]) Forward(q, k, v Matrix[T]) Matrix[T] {
	return a.Drop.Forward(a.Weights(q, k)).MatMul(v)
}

// ShiftInvariant reports true, as for any softmax.
func (ForgettingAttention[T]) ShiftInvariant() bool { return true }

// Backward carries Δ from the output of a head to its queries, keys and values. c_i is added to row i of the scores and
// subtracted from column i.
//
//	Δ_scaled = ρ ∘ (Δρ − Σ Δρ ∘ ρ),  Δc = Σ_j Δ_scaled,ij − Σ_j Δ_scaled,ji
func (a ForgettingAttention[T]) Backward(q, k, v, delta Matrix[T]) (dq, dk, dv Matrix[T]) {
	rho := a.Weights(q, k)
	q, _ = lastFeature(q)
	dv = a.Drop.Forward(rho).Transpose().MatMul(delta)           // (ρ ∘ drop)ᵗ Δ            (n, dh)
	drho, _ := a.Drop.Backward(rho, delta.MatMul(v.Transpose())) // Δ vᵗ ∘ drop              (n, n)
	dscaled := drho.Sub(drho.Mul(rho).Sum()).Mul(rho)            // Δ_scaled                 (n, n)
	dc := dscaled.Sum().Sub(dscaled.SumTokens().Transpose())     // Δc                       (n, 1)
	draw := dscaled.Scale(1 / math.Sqrt(float64(q.Cols)))        // Δ_raw = Δ_scaled/√dρ     (n, n)
	return Join(draw.MatMul(k), dc), draw.Transpose().MatMul(q), dv
}

// gateSums are the running sums c = Σ_{l≤i} ln f_l of z, where ln f = −ln(1 + e^(−z)), in sequences of the same length:
// (B·n, H) → (B·n, H).
type gateSums[T Number] struct{ batch int }

// Forward returns c.
func (l gateSums[T]) Forward(z Matrix[T]) Matrix[T] {
	return l.sum(softplus(z.Scale(-1)).Scale(-1), func(i, j int) bool { return j <= i })
}

// Backward returns Δz = (1 − f) ∘ Σ_{i≥l} Δc_i.
func (l gateSums[T]) Backward(z, delta Matrix[T]) Matrix[T] {
	return l.sum(delta, func(i, j int) bool { return j >= i }).Mul(sigmoid(z.Scale(-1)))
}

// sum returns the sums over the tokens j of a sequence that belong to token i.
func (l gateSums[T]) sum(x Matrix[T], belongs func(i, j int) bool) Matrix[T] {
	return perHead(l.batch, 1, func(_, _ int, x []Matrix[T]) []Matrix[T] {
		n := x[0].Rows
		which := Zeros[float64](n, n)
		for i := range which.Data {
			if belongs(i/n, i%n) {
				which.Data[i] = 1
			}
		}
		return []Matrix[T]{Lift[T](which).MatMul(x[0])}
	}, x)[0]
}

// withSums returns the queries of every head with its column of c: (n, H·dρ), (n, H) → (n, H(dρ+1)).
func withSums[T Number](q, c Matrix[T], heads int) Matrix[T] {
	var parts []Matrix[T]
	for h := range heads {
		parts = append(parts, q.part(h, heads), c.part(h, heads))
	}
	return Join(parts...)
}

// withoutSums takes them apart.
func withoutSums[T Number](x Matrix[T], heads int) (q, c Matrix[T]) {
	var queries, sums []Matrix[T]
	for h := range heads {
		query, sum := lastFeature(x.part(h, heads))
		queries, sums = append(queries, query), append(sums, sum)
	}
	return Join(queries...), Join(sums...)
}

// forget is the link that gives the queries of every head the running sums c of its gates, as a further feature.
//
//	z = x w_f + b_f,  q ← [q | c(z)]
type forget[T Number] struct {
	logits Layer[T] // z  (d, H)
	heads  Heads[T]
}

// Forward returns [q | c].
func (l forget[T]) Forward(v Values[T]) (written Values[T]) {
	z := forward("c_forget", l.logits, v.at("x"))
	return Values[T]{"q": withSums(v.at("q"), gateSums[T]{l.heads.Batch}.Forward(z), l.heads.Count)}
}

// Backward returns Δ at q, and Δ at x through the sums.
func (l forget[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	x := v.at("x")
	dq, dc := withoutSums(delta["q"], l.heads.Count)
	dz := gateSums[T]{l.heads.Batch}.Backward(forward("c_forget", l.logits, x), dc)
	dx, g := backward("c_forget", l.logits, x, dz)
	return Values[T]{"x": dx, "q": dq}, g.by("a₂ᵗΔ_z", "ΣΔ_z").In("c_forget", "_f")
}

// forgetting returns the link of at.c_forget, if there is one.
func (at Site[T]) forgetting(heads Heads[T]) (c Chain[T]) {
	if z := at.optionalLinear("c_forget"); z != nil {
		c = append(c, forget[T]{z, heads})
	}
	return c
}
