package verify

// UnprojectedForward is attention with the tokens themselves for queries, and with z,
// which may be the same, for keys and values.
//
//	softmax(x zᵗ/√d + M) z      (n, d), (m, d) → (n, d)      Xu (4)–(6)
//
// Conti prints it for z ≠ x under the name of cross-attention (erratum C14).
func UnprojectedForward[T Number](x, z Matrix[T], mask Matrix[float64]) Matrix[T] {
	return AttentionForward(x, z, z, mask, Matrix[float64]{})
}

// UnprojectedBackward is the Δ of the queries; and of z, which is key and value, the
// sum of both. For z = x all three add up.
func UnprojectedBackward[T Number](x, z Matrix[T], mask Matrix[float64], delta Matrix[T]) (dx, dz Matrix[T]) {
	dq, dk, dv := AttentionBackward(x, z, z, mask, Matrix[float64]{}, delta)
	return dq, dk.Add(dv)
}
