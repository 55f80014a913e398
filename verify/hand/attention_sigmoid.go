package hand

import "math"

// SigmoidAttention is a head that mixes the values by sigmoids of the scores in place of a softmax (Ramapuram et al.
// 2024). n is the number of keys that a query sees under the optional additive mask M:
//
//	ρ = σ(q kᵗ/√dρ + M − ln n),  a = (ρ ∘ drop) v       (n, dh)
type SigmoidAttention[T Number] struct {
	Mask Matrix[float64] // (n, m)
	Drop Dropout[T]      // of the weights
}

// Weights returns ρ. A hidden key has the weight 0, and so have all keys of a query that sees none.
func (a SigmoidAttention[T]) Weights(q, k Matrix[T]) Matrix[T] {
	see, shift := a.visible(q.Rows, k.Rows)
	scaled := q.MatMul(k.Transpose()).Scale(1 / math.Sqrt(float64(q.Cols))) // q kᵗ/√dρ                  (n, m)
	return sigmoid(scaled.Add(Lift[T](shift))).Mul(Lift[T](see))            // σ(q kᵗ/√dρ + M − ln n)    (n, m)
}

// visible returns 1 for the keys that a query sees and 0 for the others, and M − ln n with 0 in place of −∞.
func (a SigmoidAttention[T]) visible(queries, keys int) (see, shift Matrix[float64]) {
	mask := a.Mask
	if mask.None() {
		mask = Zeros[float64](queries, keys)
	}
	see = mask.each(func(m float64) float64 {
		if math.IsInf(m, -1) {
			return 0
		}
		return 1
	}, nil)
	finite := mask.each(func(m float64) float64 {
		if math.IsInf(m, -1) {
			return 0
		}
		return m
	}, nil)
	logs := see.Sum().each(func(n float64) float64 { return math.Log(max(n, 1)) }, nil) // ln n  (n, 1)
	return see, finite.Sub(logs)
}

// Forward returns (ρ ∘ drop) v.
func (a SigmoidAttention[T]) Forward(q, k, v Matrix[T]) Matrix[T] {
	return a.Drop.Forward(a.Weights(q, k)).MatMul(v)
}

// ShiftInvariant reports false: a larger score has a larger weight, whatever the other scores are.
func (SigmoidAttention[T]) ShiftInvariant() bool { return false }

// Backward carries Δ from the output of a head to its queries, keys and values. Every weight depends on its own score
// only, with the slope ρ(1 − ρ), which is 0 for a hidden key.
func (a SigmoidAttention[T]) Backward(q, k, v, delta Matrix[T]) (dq, dk, dv Matrix[T]) {
	rho := a.Weights(q, k)
	dv = a.Drop.Forward(rho).Transpose().MatMul(delta)           // (ρ ∘ drop)ᵗ Δ               (m, dh)
	drho, _ := a.Drop.Backward(rho, delta.MatMul(v.Transpose())) // Δ vᵗ ∘ drop                 (n, m)
	dscaled := drho.Mul(rho).Mul(rho.Scale(-1).Shift(1))         // Δ_scaled = Δρ ∘ ρ ∘ (1 − ρ) (n, m)
	draw := dscaled.Scale(1 / math.Sqrt(float64(q.Cols)))        // Δ_raw = Δ_scaled/√dρ        (n, m)
	return draw.MatMul(k), draw.Transpose().MatMul(q), dv        // Δ_raw k, Δ_rawᵗ q           (n, dρ), (m, dρ)
}
