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
	return weights.MatMul(v).Div(weights.Sum())
}

// Backward carries Δ to the features and values. A weight counts twice, in the dividend and in the divisor: g is Δ at
// the dividend, e at the divisor.
func (l LinearAttention[T]) Backward(q, k, v, delta Matrix[T]) (dq, dk, dv Matrix[T]) {
	phiQ, phiK := forward("features", l.Features, q), forward("features", l.Features, k)
	weights := l.weights(phiQ, phiK)
	total := weights.Sum()                                                   //                     (n, 1)
	out := weights.MatMul(v).Div(total)                                      // o                   (n, dh)
	g := delta.Div(total)                                                    // Δ/Σ                 (n, dh)
	e := delta.Mul(out).Sum().Div(total)                                     // Δ ⊖ o/Σ             (n, 1)
	dw := visible(g.MatMul(v.Transpose()).Sub(e), l.See)                     // (g vᵗ − e) ∘ see    (n, m)
	dq, _ = backward("features", l.Features, q, dw.MatMul(phiK))             // Δφq = dw φk         (n, f)
	dk, _ = backward("features", l.Features, k, dw.Transpose().MatMul(phiQ)) // Δφk = dwᵗ φq     (m, f)
	return dq, dk, weights.Transpose().MatMul(g)                             // (φq φkᵗ ∘ see)ᵗ g   (m, dh)
}

// ShiftInvariant reports false: the weights are quotients of products, not a softmax.
func (LinearAttention[T]) ShiftInvariant() bool { return false }

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

// LinearScan is causal linear attention token by token, without a matrix of weights (E. Conti (17), last display of the
// section): S (f, dh) and z (1, f) are sums over the tokens so far.
//
//	S ← S + φk_iᵗ v_i    z ← z + φk_i    o_i = φq_i S / φq_i zᵗ
type LinearScan[T Number] struct{ Features Layer[T] }

// Forward computes the outputs in the order of the tokens and updates the sums.
func (l LinearScan[T]) Forward(q, k, v Matrix[T]) Matrix[T] {
	phiQ, phiK, err := l.features(q, k, v, v)
	if err != nil {
		return Matrix[T]{Err: err}
	}
	s, z := Zeros[T](phiK.Cols, v.Cols), Zeros[T](1, phiK.Cols)
	rows := make([]Matrix[T], v.Rows)
	for i := range rows {
		q, k := phiQ.Tokens(i, i+1), phiK.Tokens(i, i+1)
		s, z = s.Add(k.Transpose().MatMul(v.Tokens(i, i+1))), z.Add(k)
		rows[i] = q.MatMul(s).Div(q.MatMul(z.Transpose()))
	}
	return JoinTokens(rows...)
}

// ShiftInvariant reports false, as for LinearAttention.
func (LinearScan[T]) ShiftInvariant() bool { return false }

// features returns φ of queries and keys, or an error unless queries, keys, values and Δ have the same number of rows.
func (l LinearScan[T]) features(q, k, v, delta Matrix[T]) (phiQ, phiK Matrix[T], err error) {
	phiQ, phiK = forward("features", l.Features, q), forward("features", l.Features, k)
	if err = firstErr(phiQ, phiK, v, delta); err == nil &&
		(phiQ.Rows != v.Rows || phiK.Rows != v.Rows || delta.Rows != v.Rows) {
		err = failed[T]("%d queries, %d keys, %d values, %d Δ", phiQ.Rows, phiK.Rows, v.Rows, delta.Rows).Err
	}
	return phiQ, phiK, err
}

// Backward goes forwards once more for Δ at the queries, where S and z are sums over the keys before them. Then it goes
// backwards for keys and values, where R (f, dh) and u (1, f) are sums over the queries after them.
//
//	Δφq_i = g_i Sᵗ − e_i z             g = Δ_i/Σ, e = Δ_i·o_i/Σ
//	R ← R + φq_iᵗ g_i    u ← u + e_i φq_i
//	Δφk_i = v_i Rᵗ − u    Δv_i = φk_i R
func (l LinearScan[T]) Backward(q, k, v, delta Matrix[T]) (dq, dk, dv Matrix[T]) {
	phiQ, phiK, err := l.features(q, k, v, delta)
	if err != nil {
		return Matrix[T]{Err: err}, Matrix[T]{Err: err}, Matrix[T]{Err: err}
	}
	n := v.Rows
	s, z := Zeros[T](phiK.Cols, v.Cols), Zeros[T](1, phiK.Cols)
	dqs, dks, dvs := make([]Matrix[T], n), make([]Matrix[T], n), make([]Matrix[T], n)
	gs, es := make([]Matrix[T], n), make([]Matrix[T], n)
	for i := range n {
		q, k := phiQ.Tokens(i, i+1), phiK.Tokens(i, i+1)
		s, z = s.Add(k.Transpose().MatMul(v.Tokens(i, i+1))), z.Add(k)
		total := q.MatMul(z.Transpose())                       // Σ        (1, 1)
		gs[i] = delta.Tokens(i, i+1).Div(total)                // g        (1, dh)
		es[i] = gs[i].Mul(q.MatMul(s).Div(total)).Sum()        // e        (1, 1)
		dqs[i] = gs[i].MatMul(s.Transpose()).Sub(es[i].Mul(z)) // Δφq      (1, f)
	}
	r, u := Zeros[T](phiK.Cols, v.Cols), Zeros[T](1, phiK.Cols)
	for i := n - 1; i >= 0; i-- {
		q := phiQ.Tokens(i, i+1)
		r, u = r.Add(q.Transpose().MatMul(gs[i])), u.Add(es[i].Mul(q))
		dks[i] = v.Tokens(i, i+1).MatMul(r.Transpose()).Sub(u) // Δφk      (1, f)
		dvs[i] = phiK.Tokens(i, i+1).MatMul(r)                 // Δv       (1, dh)
	}
	dq, _ = backward("features", l.Features, q, JoinTokens(dqs...))
	dk, _ = backward("features", l.Features, k, JoinTokens(dks...))
	return dq, dk, JoinTokens(dvs...)
}

// TaylorFeatures is φ(x) = [1, x̂], x̂ = x/√(‖x‖² + ε), so that φ(q)·φ(k) = 1 + q̂·k̂, the first two terms of
// e^(q̂·k̂), is not negative (E. Conti, section 2.1.2; erratum C5).
//
//	(n, dρ) → (n, 1+dρ)
type TaylorFeatures[T Number] struct{ Eps float64 }

// Forward returns [1, x̂].
func (l TaylorFeatures[T]) Forward(x Matrix[T]) Matrix[T] {
	hat := x.Div(x.Square().Sum().Shift(l.Eps).Sqrt())
	return Join(Zeros[T](hat.Rows, 1).Shift(1), hat)
}

// Backward drops the Δ of the 1. From the rest it subtracts the part along x̂, which would only change the length.
//
//	Δx = (Δx̂ − x̂ (x̂ ⊖ Δx̂))/√(‖x‖² + ε)
func (l TaylorFeatures[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	length := x.Square().Sum().Shift(l.Eps).Sqrt()
	hat, dhat := x.Div(length), delta.Columns(1, delta.Cols)
	return dhat.Sub(hat.Mul(hat.Mul(dhat).Sum())).Div(length), nil
}
