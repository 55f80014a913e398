package hand

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/internal/exact"
)

// Embeddings is the way from the ids of tokens to the residual stream: a list of parts, each of which has the ids and
// the embedded tokens so far. The first part looks the tokens up.
//
//	ids (n) → part 1 → … → part m → a₁ (n, d)
type Embeddings[T Number] []Embedder[T]

// Embedder is a part of Embeddings.
type Embedder[T Number] interface {
	// Forward returns new embedded tokens in place of x.
	Forward(ids []int, x Matrix[T]) Matrix[T] // (n), (n, d) → (n, d)
	// Backward takes the arguments of Forward and Δ at its result. It returns Δ at x and the gradients of the
	// parameters. The gradient of a table adds up Δ over equal ids: see Embedding.Backward.
	Backward(ids []int, x, delta Matrix[T]) (dx Matrix[T], g Gradients[T])
}

// run returns the embedded tokens before each part, and those at the end.
func (e Embeddings[T]) run(ids []int) (before []Matrix[T], x Matrix[T]) {
	x = missing[T]("Embedder")
	for _, part := range e {
		before = append(before, x)
		if x = missing[T]("Embedder"); part != nil {
			x = part.Forward(ids, before[len(before)-1])
		}
	}
	return before, x
}

// Forward returns a₁.
func (e Embeddings[T]) Forward(ids []int) Matrix[T] { // (n) → (n, d)
	_, x := e.run(ids)
	return x
}

// Backward passes Δ₁ through the parts, from the last to the first.
func (e Embeddings[T]) Backward(ids []int, delta Matrix[T]) (g Gradients[T]) {
	before, _ := e.run(ids)
	if len(e) == 0 {
		return deltaAt("wte", "", missing[T]("Embedder"))
	}
	for i, part := range slices.Backward(e) {
		if part == nil {
			return append(deltaAt("wte", "", missing[T]("Embedder")), g...)
		}
		var own Gradients[T]
		delta, own = part.Backward(ids, before[i], delta)
		g = slices.Concat(own, g)
	}
	return g
}

// Tokens is the first of Embeddings: the rows of a table, times a factor.
//
//	x = scale · ohe(ids) w      (V, d) → (n, d)
type Tokens[T Number] struct {
	Weight Matrix[T]
	Scale  float64 // 0 is 1
}

// Forward returns the rows of the ids. It has no x.
func (l Tokens[T]) Forward(ids []int, _ Matrix[T]) Matrix[T] {
	return l.scaled(within("wte", Matrix[T]{}, Embedding[T]{l.Weight}.Forward(ids)))
}

// Backward returns the gradient of the table, scale · ohe(ids)ᵗ Δ₁.
func (l Tokens[T]) Backward(ids []int, _, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return dx, Embedding[T]{l.Weight}.Backward(ids, l.scaled(delta)).In("wte", "_tok")
}

// scaled returns x with the factor.
func (l Tokens[T]) scaled(x Matrix[T]) Matrix[T] {
	if l.Scale == 0 {
		return x
	}
	return x.Scale(l.Scale)
}

// Embedded is a layer as a part of Embeddings, such as positions or dropout.
type Embedded[T Number] struct {
	Name  string // before the names of its parameters
	Index string // of the symbols w and b, such as _pos
	Layer Layer[T]
}

// Forward returns layer(x).
func (l Embedded[T]) Forward(_ []int, x Matrix[T]) Matrix[T] { return forward(l.Name, l.Layer, x) }

// Backward passes Δ through the layer.
func (l Embedded[T]) Backward(_ []int, x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	dx, g = backward(l.Name, l.Layer, x, delta)
	return dx, g.In(l.Name, l.Index)
}

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
