package hand

// Elman is the recurrent layer of CS 224n (4)–(6), as rows. It runs along each of Batch sequences of equal length.
//
//	h_t = tanh(h_{t−1}W + x_tU + b),  h_0 = 0          (B·n, d)
type Elman[T Number] struct {
	Input  Layer[T]  // U, b
	Weight Matrix[T] // W  (d, d)
	Batch  int
}

// Forward computes the states in the order of time.
func (l Elman[T]) Forward(x Matrix[T]) Matrix[T] {
	return l.recur(forward("c_input", l.Input, x))
}

func (l Elman[T]) recur(a Matrix[T]) Matrix[T] {
	if err := firstErr(a, l.Weight); err != nil {
		return Matrix[T]{Err: err}
	}
	if !shares(a.Rows, l.Batch) {
		return failed[T]("%d tokens in %d sequences", a.Rows, l.Batch)
	}
	n, rows := a.Rows/l.Batch, make([]Matrix[T], a.Rows)
	for s := range l.Batch {
		h := Zeros[T](1, l.Weight.Rows)
		for t := range n {
			h = h.MatMul(l.Weight).Add(a.Tokens(s*n+t, s*n+t+1)).Tanh() // h_t   (1, d)   CS 224n (4)
			rows[s*n+t] = h
		}
	}
	return JoinTokens(rows...)
}

// Backward goes back through time. It returns Δ at the input and the gradients of U, W and b. Step t receives Δ_t from
// above and c from the next step:
//
//	a_t = (Δ_t + c) ∘ (1 − h_t²)
//	∂W += h_{t−1}ᵗ a_t,  c = a_t Wᵗ
//	Δx_t = a_t Uᵗ,  ∂U += x_tᵗ a_t,  ∂b += a_t
func (l Elman[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	h := l.Forward(x)
	if h.Err != nil {
		return h, nil
	}
	w := l.Weight
	n, rows := h.Rows/l.Batch, make([]Matrix[T], h.Rows)
	dw := w.zeros()
	for s := range l.Batch {
		c := Zeros[T](1, w.Rows)
		for t := n - 1; t >= 0; t-- {
			i := s*n + t
			dtanh := h.Tokens(i, i+1).Square().Scale(-1).Shift(1) // 1 − h_t²
			a := delta.Tokens(i, i+1).Add(c).Mul(dtanh)           // a_t      (1, d)
			if t > 0 {
				dw = dw.Add(h.Tokens(i-1, i).Transpose().MatMul(a)) // ∂W       (d, d)
			}
			c = a.MatMul(w.Transpose())
			rows[i] = a
		}
	}
	dx, input := backward("c_input", l.Input, x, JoinTokens(rows...))
	for i := range input { // named as in the note
		if input[i].Symbol == "w" {
			input[i].Symbol = "U"
		}
		input[i].Equation = "CS 224n (4)"
	}
	g = append(deltaAt(inputOf, "a Uᵗ, a = (Δ + c) ∘ (1 − h²), CS 224n (4)", dx), input.In("c_input", "")...)
	return dx, append(g, gradient(w, "weight", "W", "CS 224n (4)", dw)...)
}

// Elman returns the layer with at.c_input and at.weight.
func (at Site[T]) Elman(batch int) Layer[T] {
	return Elman[T]{at.At("c_input").Linear(), at.Param("weight"), batch}
}
