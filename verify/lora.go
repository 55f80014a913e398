package verify

// LoRAForward is what an adapter of rank r adds to the output of the layer that
// it stands beside: scale · x d u, down (in, r) and up (r, out).
//
//	(n, in) → (n, out)                          (43)
//
// The paper calls scale α and suggests α = r; the usual scale is α/r, which then
// is 1 (erratum B4). It is the caller's number here.
func LoRAForward[T Number](x, d, u Matrix[T], scale float64) Matrix[T] {
	return x.MatMul(d).MatMul(u).Scale(scale)
}

// LoRABackward gives the adapter's share of Δx; the frozen layer beside it has
// its own, Δ wᵗ, to be added (erratum B3: the paper's Δ₁₁ leaves it out).
func LoRABackward[T Number](x, d, u Matrix[T], scale float64, delta Matrix[T]) (dx, dd, du Matrix[T]) {
	dx = delta.MatMul(d.MatMul(u).Transpose()).Scale(scale)             // (n, in)  (44)
	dd = x.Transpose().MatMul(delta).MatMul(u.Transpose()).Scale(scale) // (in, r)  (45)
	du = x.MatMul(d).Transpose().MatMul(delta).Scale(scale)             // (r, out) (46)
	return dx, dd, du
}
