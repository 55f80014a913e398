package hand

import "math"

// Head is one head of attention: it mixes the tokens of one sequence by their queries (n, dρ), keys (m, dρ) and values
// (m, dh).
type Head[T Number] interface {
	Forward(q, k, v Matrix[T]) Matrix[T] // (n, dh)
	Backward(q, k, v, delta Matrix[T]) (dq, dk, dv Matrix[T])

	// ShiftInvariant reports whether adding one number to all scores of a query changes nothing, as in a softmax. In
	// that case the gradient of the keys' bias is identically 0.
	ShiftInvariant() bool
}

// Attention is a head that mixes the values by the attention weights,
//
//	ρ = softmax(q kᵗ/√dρ + M),  a = (ρ ∘ drop) v       (n, dh)              (16), (18)
//
// with an optional additive mask M (erratum B1). With a cap c, c·tanh(s/c) replaces a score s = q kᵗ/√dρ (Gemma 2).
// With a sink, a query has one more key, of score b and value 0 (gpt-oss): ρ is the softmax over all of them, without
// the column ρ₀ of the sink.
type Attention[T Number] struct {
	Mask Matrix[float64] // (n, m)
	Drop Dropout[T]      // of the weights
	Cap  float64         // 0 for none
	Sink Matrix[T]       // b (1, 1), the logit of a sink; optional
}

// Weights returns the attention weights ρ: how much each query attends to each key.
func (a Attention[T]) Weights(q, k Matrix[T]) Matrix[T] {
	raw := q.MatMul(k.Transpose())                      // q kᵗ    (n, m)   (10)
	scaled := raw.Scale(1 / math.Sqrt(float64(q.Cols))) //         (n, m)   (12)
	capped := scaled.softcap(a.Cap)                     // c·tanh  (n, m)
	causal := capped.plus(Lift[T](a.Mask))              //         (n, m)   (13)
	if a.Sink.None() {
		return causal.Softmax() //                              ρ       (n, m)   (15)
	}
	return Join(causal, a.sinks(q)).Softmax().Columns(0, k.Rows)
}

// sinks returns a column of b, one for each query.
func (a Attention[T]) sinks(q Matrix[T]) Matrix[T] {
	if b := a.Sink.sound(); b.Err == nil && (b.Rows != 1 || b.Cols != 1) {
		return failed[T]("a sink (%d, %d), want (1, 1)", b.Rows, b.Cols)
	}
	return q.Sum().zeros().Add(a.Sink)
}

// SinkGradient returns the gradient of b (1, 1). The value of the sink is 0, and so is Δ at ρ₀. Its Δ before the
// softmax is −ρ₀ D, with the row sums D of Δρ ∘ ρ.
func (a Attention[T]) SinkGradient(q, k, v, delta Matrix[T]) Matrix[T] {
	rho := a.Weights(q, k)
	drho, _ := a.Drop.Backward(rho, delta.MatMul(v.Transpose())) // Δ vᵗ                (n, m)
	rowsum := drho.Mul(rho).Sum()                                // D                   (n, 1)
	rho0 := rho.Sum().Scale(-1).Shift(1)                         // ρ₀ = 1 − Σ ρ        (n, 1)
	return rho0.Mul(rowsum).SumTokens().Scale(-1)                // −Σ ρ₀ D             (1, 1)
}

// Forward returns (ρ ∘ drop) v.
func (a Attention[T]) Forward(q, k, v Matrix[T]) Matrix[T] {
	return a.Drop.Forward(a.Weights(q, k)).MatMul(v)
}

// ShiftInvariant reports whether there is no cap and no sink: a softmax cancels what all scores of a query have in
// common.
func (a Attention[T]) ShiftInvariant() bool { return a.Cap == 0 && a.Sink.None() }

// softcap returns c·tanh(x/c), or x if c is 0.
func (x Matrix[T]) softcap(c float64) Matrix[T] {
	switch {
	case c == 0:
		return x
	case !(c > 0 && c <= math.MaxFloat64):
		return failed[T]("a cap of %v, want 0 or more", c)
	}
	return x.Scale(1 / c).Tanh().Scale(c)
}

// capped returns the Δ before the cap c of scores x, given the Δ after it: Δ ∘ (1 − tanh²(x/c)).
func capped[T Number](x, delta Matrix[T], c float64) Matrix[T] {
	if c == 0 {
		return delta
	}
	return delta.Mul(x.Scale(1 / c).Tanh().Square().Scale(-1).Shift(1))
}

// Backward carries Δ from the output of a head to its queries, keys and values. A masked weight is exactly 0, and so is
// its Δ_causal: the mask needs no line of its own (27).
func (a Attention[T]) Backward(q, k, v, delta Matrix[T]) (dq, dk, dv Matrix[T]) {
	rho := a.Weights(q, k)
	dv = a.Drop.Forward(rho).Transpose().MatMul(delta)           // ρᵗ Δ                    (m, dh)
	drho, _ := a.Drop.Backward(rho, delta.MatMul(v.Transpose())) // Δ vᵗ                    (n, m)
	rowsum := drho.Mul(rho).Sum()                                // Δvᵗ ⊖ ρ                 (n, 1)
	dcausal := drho.Sub(rowsum).Mul(rho)                         // Δ_causal                (n, m)   (25)
	scale := 1 / math.Sqrt(float64(q.Cols))
	dscaled := capped(q.MatMul(k.Transpose()).Scale(scale), dcausal, a.Cap) // Δ_causal ∘ (1 − tanh²)
	draw := dscaled.Scale(scale)                                            // Δ_raw = Δ_scaled/√dρ    (n, m)   (28)
	dq = draw.MatMul(k)                                                     // Δ_raw k                 (n, dρ)
	dk = draw.Transpose().MatMul(q)                                         // Δ_rawᵗ q                (m, dρ)
	return dq, dk, dv
}

// Cache holds the keys (t, dρ) and values (t, dh) of a head for the t tokens so far.
type Cache[T Number] struct{ K, V Matrix[T] }

// Attend attends from one more token with the query q (1, dρ), key k (1, dρ) and value v (1, dh). It returns the output
// (1, dh) and the cache with this token.
//
//	a = softmax(q [K; k]ᵗ/√dρ) [V; v]
//
// This is row t of Attention under a causal mask: the rows above do not change, so no query is kept. R. Xu (33)–(36)
// and L. Boué, section 3.2, print it without the scale (errata X11, B7).
func (c Cache[T]) Attend(q, k, v Matrix[T]) (a Matrix[T], next Cache[T]) {
	next = Cache[T]{K: k, V: v}
	if !c.K.None() || !c.V.None() {
		next = Cache[T]{K: JoinTokens(c.K, k), V: JoinTokens(c.V, v)}
	}
	return Attention[T]{}.Forward(q, next.K, next.V), next
}
