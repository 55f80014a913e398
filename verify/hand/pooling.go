package hand

// MeanTokens is the mean of the n tokens of each of Batch sequences.
//
//	y_b = 1/n Σ_t x_bt                             (B·n, d) → (B, d)
type MeanTokens[T Number] struct{ Batch int }

// Forward returns the mean.
func (l MeanTokens[T]) Forward(x Matrix[T]) Matrix[T] {
	return perHead(l.Batch, 1, func(_, _ int, x []Matrix[T]) []Matrix[T] {
		return []Matrix[T]{x[0].SumTokens().Scale(1 / float64(x[0].Rows))}
	}, x)[0]
}

// Backward returns Δ at the input x: each token contributes 1/n to the mean of its sequence.
//
//	Δ_bt = Δ_b/n                                   (B, d) → (B·n, d)
func (l MeanTokens[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return perHead(l.Batch, 1, func(_, _ int, x []Matrix[T]) []Matrix[T] {
		return []Matrix[T]{x[0].zeros().Add(x[1].Scale(1 / float64(x[0].Rows)))}
	}, x, delta)[0], nil
}

// GatherTokens is one token of each sequence: the token at index At[b] of sequence b.
//
//	y_b = x_b,at(b)                                (B·n, d) → (B, d)
type GatherTokens[T Number] struct{ At []int }

// Forward returns the tokens.
func (l GatherTokens[T]) Forward(x Matrix[T]) Matrix[T] {
	return perHead(len(l.At), 1, func(b, _ int, x []Matrix[T]) []Matrix[T] {
		return []Matrix[T]{x[0].Tokens(l.at(b), l.at(b)+1)}
	}, x)[0]
}

// Backward returns Δ at the input x, as the product with the one-hot vector of the index: 0 at all other tokens.
//
//	Δ_bt = Δ_b if t = at(b), otherwise 0           (B, d) → (B·n, d)
func (l GatherTokens[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return perHead(len(l.At), 1, func(b, _ int, x []Matrix[T]) []Matrix[T] {
		t := l.at(b)
		before, after := Zeros[T](t, x[0].Cols), Zeros[T](x[0].Rows-1-t, x[0].Cols)
		return []Matrix[T]{JoinTokens(before, x[1], after)}
	}, x, delta)[0], nil
}

// at returns the index in sequence b. Without sequences it returns 0: x then carries the error.
func (l GatherTokens[T]) at(b int) int {
	if len(l.At) == 0 {
		return 0
	}
	return l.At[b]
}
