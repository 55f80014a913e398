package hand

import "github.com/pedestrian-ml/pedestrian/verify/internal/exact"

// Embedding looks up the row of the weight for each token,
//
//	a = ohe(tokens) w      (V, d) → (n, d)      (2)
//
// as a gather, which equals the product with the one-hot matrix.
type Embedding[T Number] struct{ Weight Matrix[T] }

// Forward returns a row of w for every token.
func (l Embedding[T]) Forward(tokens []int) Matrix[T] {
	w := l.table(tokens)
	if w.Err != nil {
		return w
	}
	if !possible(len(tokens), w.Cols) {
		return Zeros[T](len(tokens), w.Cols)
	}
	return Matrix[T]{
		Rows: len(tokens), Cols: w.Cols, Data: gathered(w.Data, w.Cols, tokens),
		exact: w.exact.with(func(n []exact.Number) []exact.Number { return gathered(n, w.Cols, tokens) }),
	}
}

// gathered returns a row of the given width for each token.
func gathered[E any](entries []E, width int, tokens []int) []E {
	out := make([]E, 0, len(tokens)*width)
	for _, token := range tokens {
		out = append(out, entries[token*width:(token+1)*width]...)
	}
	return out
}

// table returns the weight, or an error if a token has no row in it.
func (l Embedding[T]) table(tokens []int) Matrix[T] {
	w := l.Weight.sound()
	for i, token := range tokens {
		if w.Err == nil && (token < 0 || token >= w.Rows) {
			return failed[T]("token %d at %d, embeddings (%d, %d)", token, i, w.Rows, w.Cols)
		}
	}
	return w
}

// Backward adds the Δ of each place to the row that was looked up there. Other rows stay zero.
//
//	∂w = ohe(tokens)ᵗ Δ    (n, d) → (V, d)      (3)
func (l Embedding[T]) Backward(tokens []int, delta Matrix[T]) Gradients[T] {
	return Gradients[T]{{Name: "weight", Symbol: "w", Equation: "(3)", Value: l.scatter(tokens, delta)}}
}

func (l Embedding[T]) scatter(tokens []int, delta Matrix[T]) Matrix[T] {
	w := l.table(tokens)
	switch delta = delta.sound(); {
	case w.Err != nil:
		return w
	case delta.Err != nil:
		return delta
	case delta.Rows != len(tokens) || delta.Cols != w.Cols:
		return failed[T]("delta (%d, %d) for %d tokens of %d features", delta.Rows, delta.Cols, len(tokens), w.Cols)
	}
	dw := Zeros[T](w.Rows, w.Cols)
	for i, token := range tokens {
		for j := range delta.Cols {
			dw.Data[token*w.Cols+j] += delta.At(i, j)
		}
	}
	dw.exact = delta.exactSum(len(dw.Data), func(i int) int { return tokens[i/w.Cols]*w.Cols + i%w.Cols })
	return dw
}

// Tied is a head that shares the token embedding: its weight is wte.weight transposed (Boué section 7).
//
//	y = x wᵗ               (n, d) → (n, V)
type Tied[T Number] struct{ Embedding Matrix[T] }

// Forward returns x wᵗ.
func (l Tied[T]) Forward(x Matrix[T]) Matrix[T] { return x.MatMul(l.Embedding.Transpose()) }

// Backward returns Δ at the input and the head's share of the gradient of the embedding.
//
//	Δx = Δ w,  ∂w = (xᵗ Δ)ᵗ
func (l Tied[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	dw := x.Transpose().MatMul(delta).Transpose() // (a₁₁ᵗ Δ₁₂)ᵗ
	return delta.MatMul(l.Embedding), gradient(l.Embedding, "/wte.weight", "w_tok", "(3)", dw)
}

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
