package verify

// EmbeddingForward looks the rows of the weight up that the tokens name,
//
//	a = ohe(tokens) w      (V, d) → (n, d)      (2)
//
// as a gather, which is the product with the one-hot matrix.
func EmbeddingForward[T Number](w Matrix[T], tokens []int) Matrix[T] {
	if w.Err != nil {
		return w
	}
	out := Zeros[T](len(tokens), w.Cols)
	for i, token := range tokens {
		if token < 0 || token >= w.Rows {
			return failed[T]("token %d at %d, embeddings (%d, %d)", token, i, w.Rows, w.Cols)
		}
		copy(out.Data[i*w.Cols:(i+1)*w.Cols], w.Data[token*w.Cols:(token+1)*w.Cols])
	}
	return out
}

// EmbeddingBackward adds the Δ of each place to the row that was looked up
// there; rows nobody looked up stay zero.
//
//	∂w = ohe(tokens)ᵗ Δ    (n, d) → (V, d)      (3)
func EmbeddingBackward[T Number](w Matrix[T], tokens []int, delta Matrix[T]) (dw Matrix[T]) {
	dw = Zeros[T](w.Rows, w.Cols)
	if w.Err != nil {
		return w
	}
	if delta.Err != nil {
		return delta
	}
	if delta.Rows != len(tokens) || delta.Cols != w.Cols {
		return failed[T]("delta (%d, %d) for %d tokens of %d features", delta.Rows, delta.Cols, len(tokens), w.Cols)
	}
	for i, token := range tokens {
		for j := range delta.Cols {
			dw.Data[token*w.Cols+j] += delta.At(i, j)
		}
	}
	return dw
}

// Positions returns 0, 1, …, n−1 for each of batch sequences: the "tokens" that
// learned positions are looked up with. The gradient of a position is then the
// sum over the batch.
func Positions(batch, n int) []int {
	out := make([]int, batch*n)
	for i := range out {
		out[i] = i % n
	}
	return out
}
