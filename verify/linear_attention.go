package verify

// EluPlusOneForward is φ(x) = elu(x) + 1, entry by entry, never negative: x + 1 where x is positive, else eˣ.
//
//	φ(x) = max(x, 0) + e^min(x, 0)
func EluPlusOneForward[T Number](x Matrix[T]) Matrix[T] {
	positive := x.Mul(x.Step())
	return positive.Add(x.Sub(positive).Exp())
}

// EluPlusOneBackward returns Δ ∘ φ'(x), with φ' = e^min(x, 0): 1 where x is positive.
func EluPlusOneBackward[T Number](x, delta Matrix[T]) Matrix[T] {
	return delta.Mul(x.Sub(x.Mul(x.Step())).Exp())
}

// LinearAttentionForward weighs the values by products of features φq, φk (n, f) of queries and keys, of the keys that
// see (n, n) has a 1 for and not a 0; without see, of all (E. Conti (15), (16)):
//
//	o_i = Σ_j φq_i·φk_j v_j / Σ_j φq_i·φk_j       (n, dh)
func LinearAttentionForward[T Number](phiQ, phiK, v Matrix[T], see Matrix[float64]) Matrix[T] {
	weights := seen(phiQ.MatMul(phiK.Transpose()), see) // φq φkᵗ ∘ see   (n, n)
	return weights.MatMul(v).Div(weights.SumFeatures())
}

// LinearAttentionBackward carries Δ to the features and values. A weight counts twice, in what is divided and in what it
// is divided by: g is Δ at the former, e at the latter.
func LinearAttentionBackward[T Number](phiQ, phiK, v Matrix[T], see Matrix[float64], delta Matrix[T]) (dphiQ, dphiK, dv Matrix[T]) {
	weights := seen(phiQ.MatMul(phiK.Transpose()), see)
	total := weights.SumFeatures()                       //                                  (n, 1)
	out := weights.MatMul(v).Div(total)                  // o                                (n, dh)
	g := delta.Div(total)                                // Δ/Σ                              (n, dh)
	e := delta.Mul(out).SumFeatures().Div(total)         // Δ ⊖ o/Σ                          (n, 1)
	dw := seen(g.MatMul(v.Transpose()).Sub(e), see)      // (g vᵗ − e) ∘ see                 (n, n)
	return dw.MatMul(phiK), dw.Transpose().MatMul(phiQ), // dw φk, dwᵗ φq                    (n, f)
		weights.Transpose().MatMul(g) // (φq φkᵗ ∘ see)ᵗ g                (n, dh)
}

func seen[T Number](weights Matrix[T], see Matrix[float64]) Matrix[T] {
	if see.None() {
		return weights
	}
	return weights.Mul(Lift[T](see))
}

// LinearScanForward is the causal form token by token, without a matrix of weights (E. Conti (17), last display of the
// section): S (f, dh) and z (1, f) are sums over the tokens so far.
//
//	S ← S + φk_iᵗ v_i    z ← z + φk_i    o_i = φq_i S / φq_i zᵗ
func LinearScanForward[T Number](phiQ, phiK, v Matrix[T]) Matrix[T] {
	s, z := Zeros[T](phiK.Cols, v.Cols), Zeros[T](1, phiK.Cols)
	rows := make([]Matrix[T], v.Rows)
	for i := range rows {
		q, k := phiQ.Tokens(i, i+1), phiK.Tokens(i, i+1)
		s, z = s.Add(k.Transpose().MatMul(v.Tokens(i, i+1))), z.Add(k)
		rows[i] = q.MatMul(s).Div(q.MatMul(z.Transpose()))
	}
	return JoinTokens(rows...)
}

// LinearScanBackward goes forwards once more for Δ at the queries, S and z being sums over the keys before them, and
// backwards for keys and values, R (f, dh) and u (1, f) being sums over the queries behind them.
//
//	Δφq_i = g_i Sᵗ − e_i z             g = Δ_i/Σ, e = Δ_i·o_i/Σ
//	R ← R + φq_iᵗ g_i    u ← u + e_i φq_i
//	Δφk_i = v_i Rᵗ − u    Δv_i = φk_i R
func LinearScanBackward[T Number](phiQ, phiK, v, delta Matrix[T]) (dphiQ, dphiK, dv Matrix[T]) {
	n := v.Rows
	s, z := Zeros[T](phiK.Cols, v.Cols), Zeros[T](1, phiK.Cols)
	dqs, dks, dvs := make([]Matrix[T], n), make([]Matrix[T], n), make([]Matrix[T], n)
	gs, es := make([]Matrix[T], n), make([]Matrix[T], n)
	for i := range n {
		q, k := phiQ.Tokens(i, i+1), phiK.Tokens(i, i+1)
		s, z = s.Add(k.Transpose().MatMul(v.Tokens(i, i+1))), z.Add(k)
		total := q.MatMul(z.Transpose())                          // Σ        (1, 1)
		gs[i] = delta.Tokens(i, i+1).Div(total)                   // g        (1, dh)
		es[i] = gs[i].Mul(q.MatMul(s).Div(total)).SumFeatures()   // e        (1, 1)
		dqs[i] = gs[i].MatMul(s.Transpose()).Sub(es[i].MatMul(z)) // Δφq      (1, f)
	}
	r, u := Zeros[T](phiK.Cols, v.Cols), Zeros[T](1, phiK.Cols)
	for i := n - 1; i >= 0; i-- {
		q := phiQ.Tokens(i, i+1)
		r, u = r.Add(q.Transpose().MatMul(gs[i])), u.Add(es[i].MatMul(q))
		dks[i] = v.Tokens(i, i+1).MatMul(r.Transpose()).Sub(u) // Δφk      (1, f)
		dvs[i] = phiK.Tokens(i, i+1).MatMul(r)                 // Δv       (1, dh)
	}
	return JoinTokens(dqs...), JoinTokens(dks...), JoinTokens(dvs...)
}

// eachHead applies f to the queries, keys and values of every sequence b and head h, and packs what it returns as
// MultiHeadForward does.
func eachHead[T Number](qkv Matrix[T], m MultiHead, f func(b, h int, q, k, v Matrix[T]) Matrix[T]) Matrix[T] {
	sequences := make([]Matrix[T], m.Batch)
	for b := range sequences {
		heads := make([]Matrix[T], m.Heads)
		for h := range heads {
			q, k, v := split(m, qkv, b, h)
			heads[h] = f(b, h, q, k, v)
		}
		sequences[b] = JoinColumns(heads...)
	}
	return JoinTokens(sequences...)
}

// eachHeadBackward hands f the columns of Δ of every head, and packs what it returns as the forward was packed.
func eachHeadBackward[T Number](qkv Matrix[T], m MultiHead, delta Matrix[T], f func(b, h int, q, k, v, delta Matrix[T]) (dq, dk, dv Matrix[T])) Matrix[T] {
	sequences := make([]Matrix[T], m.Batch)
	for b := range sequences {
		parts := make([]Matrix[T], 3*m.Heads)
		for h := range m.Heads {
			q, k, v := split(m, qkv, b, h)
			own := delta.Tokens(b*q.Rows, (b+1)*q.Rows).Columns(h*v.Cols, (h+1)*v.Cols)
			parts[h], parts[m.Heads+h], parts[2*m.Heads+h] = f(b, h, q, k, v, own)
		}
		sequences[b] = JoinColumns(parts...)
	}
	return JoinTokens(sequences...)
}
