package hand

// LinearAttention is a head that weighs the values by products of features φ of queries and keys (E. Conti (15), (16)).
// See is 1 for the keys that a query attends to and 0 for others; without See it attends to all:
//
//	o_i = Σ_j φq_i·φk_j v_j / Σ_j φq_i·φk_j       (n, dh)
type LinearAttention[T Number] struct {
	Features Layer[T]        // φ, of every token by itself
	See      Matrix[float64] // (n, m)
}

func (l LinearAttention[T]) weights(phiQ, phiK Matrix[T]) Matrix[T] {
	return visible(phiQ.MatMul(phiK.Transpose()), l.See) // φq φkᵗ ∘ see   (n, m)
}

// Forward returns (φq φkᵗ ∘ see) v over its row sums.
func (l LinearAttention[T]) Forward(q, k, v Matrix[T]) Matrix[T] {
	weights := l.weights(forward("features", l.Features, q), forward("features", l.Features, k))
	return weights.MatMul(v).Div(weights.SumFeatures())
}

// Backward carries Δ to the features and values. A weight counts twice, in the dividend and in the divisor: g is Δ at
// the dividend, e at the divisor.
func (l LinearAttention[T]) Backward(q, k, v, delta Matrix[T]) (dq, dk, dv Matrix[T]) {
	phiQ, phiK := forward("features", l.Features, q), forward("features", l.Features, k)
	weights := l.weights(phiQ, phiK)
	total := weights.SumFeatures()                                           //                     (n, 1)
	out := weights.MatMul(v).Div(total)                                      // o                   (n, dh)
	g := delta.Div(total)                                                    // Δ/Σ                 (n, dh)
	e := delta.Mul(out).SumFeatures().Div(total)                             // Δ ⊖ o/Σ             (n, 1)
	dw := visible(g.MatMul(v.Transpose()).Sub(e), l.See)                     // (g vᵗ − e) ∘ see    (n, m)
	dq, _ = backward("features", l.Features, q, dw.MatMul(phiK))             // Δφq = dw φk         (n, f)
	dk, _ = backward("features", l.Features, k, dw.Transpose().MatMul(phiQ)) // Δφk = dwᵗ φq     (m, f)
	return dq, dk, weights.Transpose().MatMul(g)                             // (φq φkᵗ ∘ see)ᵗ g   (m, dh)
}

func visible[T Number](weights Matrix[T], see Matrix[float64]) Matrix[T] {
	if see.None() {
		return weights
	}
	return weights.Mul(Lift[T](see))
}

// EluPlusOne is φ(x) = elu(x) + 1, entry by entry: x + 1 where x is positive, otherwise eˣ. It is never negative.
//
//	φ(x) = max(x, 0) + e^min(x, 0)
type EluPlusOne[T Number] struct{}

// Forward returns max(x, 0) + e^min(x, 0).
func (EluPlusOne[T]) Forward(x Matrix[T]) Matrix[T] {
	positive := x.Mul(x.Step())
	return positive.Add(x.Sub(positive).Exp())
}

// Backward returns Δ ∘ φ'(x), with φ' = e^min(x, 0): 1 where x is positive.
func (EluPlusOne[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return delta.Mul(x.Sub(x.Mul(x.Step())).Exp()), nil
}
