package verify

// LinformerForward attends to mixtures of the keys and of the values, by e and f (k', n), without a mask (E. Conti (19)):
//
//	softmax(q (e k)ᵗ/√dρ ∘ drop) (f v)       (n, dh)
func LinformerForward[T Number](q, k, v, e, f Matrix[T], drop Matrix[float64]) Matrix[T] {
	return AttentionForward(q, e.MatMul(k), f.MatMul(v), Matrix[float64]{}, drop)
}

// LinformerBackward carries Δ to a head's queries, keys and values, and to the mixtures: of those the layer adds up what
// comes from all heads and sequences.
func LinformerBackward[T Number](q, k, v, e, f Matrix[T], drop Matrix[float64], delta Matrix[T]) (dq, dk, dv, de, df Matrix[T]) {
	dq, dmixedK, dmixedV := AttentionBackward(q, e.MatMul(k), f.MatMul(v), Matrix[float64]{}, drop, delta)
	dk, dv = e.Transpose().MatMul(dmixedK), f.Transpose().MatMul(dmixedV) // eᵗ ΔK', fᵗ ΔV'     (n, dρ), (n, dh)
	de, df = dmixedK.MatMul(k.Transpose()), dmixedV.MatMul(v.Transpose()) // ΔK' kᵗ, ΔV' vᵗ     (k', n)
	return dq, dk, dv, de, df
}
