package verify

// ElmanForward runs the recurrent layer of CS 224n (4)–(6) along each of batch sequences of
// equal length, as rows and with a bias (optional).
//
//	h_t = tanh(h_{t−1}W + x_tU + b),  h_0 = 0          (B·n, d)
func ElmanForward[T Number](x, u, w, b Matrix[T], batch int) Matrix[T] {
	a := LinearForward(x, u, b)
	if err := divides(a, batch); err.Err != nil {
		return err
	}
	n, rows := a.Rows/batch, make([]Matrix[T], a.Rows)
	for s := range batch {
		h := Zeros[T](1, w.Rows)
		for t := range n {
			h = h.MatMul(w).Add(a.Tokens(s*n+t, s*n+t+1)).Tanh() // h_t   (1, d)   CS 224n (4)
			rows[s*n+t] = h
		}
	}
	return JoinTokens(rows...)
}

// ElmanBackward goes back through time and returns Δ at the input and the gradients of U, W
// and b. What comes into step t is Δ_t from above and c from the step after it:
//
//	a_t = (Δ_t + c) ∘ (1 − h_t²)
//	∂W += h_{t−1}ᵗ a_t,  c = a_t Wᵗ
//	Δx_t = a_t Uᵗ,  ∂U += x_tᵗ a_t,  ∂b += a_t
func ElmanBackward[T Number](x, u, w, b Matrix[T], batch int, delta Matrix[T]) (dx, du, dw, db Matrix[T]) {
	h := ElmanForward(x, u, w, b, batch)
	if h.Err != nil {
		return h, h, h, h
	}
	n, rows := h.Rows/batch, make([]Matrix[T], h.Rows)
	dw = Zeros[T](w.Rows, w.Cols)
	for s := range batch {
		c := Zeros[T](1, w.Rows)
		for t := n - 1; t >= 0; t-- {
			i := s*n + t
			slope := h.Tokens(i, i+1).Square().Scale(-1).Shift(1) // 1 − h_t²
			a := delta.Tokens(i, i+1).Add(c).Mul(slope)           // a_t      (1, d)
			if t > 0 {
				dw = dw.Add(h.Tokens(i-1, i).Transpose().MatMul(a)) // ∂W       (d, d)
			}
			c = a.MatMul(w.Transpose())
			rows[i] = a
		}
	}
	dx, du, db = LinearBackward(x, u, JoinTokens(rows...))
	return dx, du, dw, db
}

func divides[T Number](x Matrix[T], batch int) Matrix[T] {
	if x.Err == nil && (batch < 1 || x.Rows%batch != 0) {
		return failed[T]("%d tokens in %d sequences", x.Rows, batch)
	}
	return x
}
