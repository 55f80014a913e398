package verify

// CrossHeadsForward lets the queries q (B·n, H·dρ) of a target look at the keys and
// values kv (B·m, H(dρ+dh)) of a source, packed as [K | V]: AttentionForward with n
// queries and m keys. The masks of c are (n, m), its dropout is (B·H·n, m).
//
//	P = softmax(q kᵗ/√dρ + M),  y = (P ∘ drop) v       (B·n, H·dh)
func CrossHeadsForward[T Number](q, kv Matrix[T], c MultiHead) Matrix[T] {
	pairs := make([]Matrix[T], c.Batch)
	for b := range c.Batch {
		heads := make([]Matrix[T], c.Heads)
		for h := range c.Heads {
			own, k, v := splitCross(c, q, kv, b, h)
			heads[h] = AttentionForward(own, k, v, c.mask(b), c.drop(b, h, own.Rows))
		}
		pairs[b] = JoinColumns(heads...)
	}
	return JoinTokens(pairs...)
}

// CrossHeadsBackward returns Δ at the queries and at the packed keys and values.
func CrossHeadsBackward[T Number](q, kv Matrix[T], c MultiHead, delta Matrix[T]) (dq, dkv Matrix[T]) {
	dqs, dkvs := make([]Matrix[T], c.Batch), make([]Matrix[T], c.Batch)
	for b := range c.Batch {
		queries, parts := make([]Matrix[T], c.Heads), make([]Matrix[T], 2*c.Heads)
		for h := range c.Heads {
			own, k, v := splitCross(c, q, kv, b, h)
			d := delta.Tokens(b*own.Rows, (b+1)*own.Rows).Columns(h*v.Cols, (h+1)*v.Cols)
			queries[h], parts[h], parts[c.Heads+h] = AttentionBackward(own, k, v, c.mask(b), c.drop(b, h, own.Rows), d)
		}
		dqs[b], dkvs[b] = JoinColumns(queries...), JoinColumns(parts...)
	}
	return JoinTokens(dqs...), JoinTokens(dkvs...)
}

// splitCross returns what head h of pair b looks for, at and gets.
func splitCross[T Number](c MultiHead, q, kv Matrix[T], b, h int) (own, k, v Matrix[T]) {
	n, m, values := q.Rows/c.Batch, kv.Rows/c.Batch, kv.Cols-c.Heads*c.QK
	if q.Err == nil && kv.Err == nil && (q.Cols != c.Heads*c.QK || values < 0 || values%c.Heads != 0) {
		q = failed[T]("queries (%d, %d), keys and values (%d, %d) for %d heads, queries of %d", q.Rows, q.Cols, kv.Rows, kv.Cols, c.Heads, c.QK)
	}
	size := values / c.Heads
	own = q.Tokens(b*n, (b+1)*n).Columns(h*c.QK, (h+1)*c.QK)
	source := kv.Tokens(b*m, (b+1)*m)
	k = source.Columns(h*c.QK, (h+1)*c.QK)
	v = source.Columns(c.Heads*c.QK+h*size, c.Heads*c.QK+(h+1)*size)
	return own, k, v
}

// Cross holds the parameters of cross-attention, biases optional: queries (d, H·dρ), keys
// and values (d, H(dρ+dh)), result (H·dh, d). R. Xu has K and V "the same thing" (erratum
// X12), E. Conti no projections at all (erratum C14).
type Cross[T Number] struct {
	Wq, Bq, Wkv, Bkv, Wo, Bo Matrix[T]
}

// CrossAttentionForward is attention of the tokens x (B·n, d) to the tokens z (B·m, d).
//
//	y = heads(x w_q + b_q, z w_kv + b_kv) w_o + b_o    (B·n, d)
func CrossAttentionForward[T Number](x, z Matrix[T], p Cross[T], c MultiHead) Matrix[T] {
	q := LinearForward(x, p.Wq, p.Bq)
	kv := LinearForward(z, p.Wkv, p.Bkv)
	return LinearForward(CrossHeadsForward(q, kv, c), p.Wo, p.Bo)
}

// CrossAttentionBackward returns Δ at both inputs and the gradients of the parameters.
//
//	Δx = Δq w_qᵗ,  Δz = [Δk | Δv] w_kvᵗ = Δk w_kᵗ + Δv w_vᵗ
func CrossAttentionBackward[T Number](x, z Matrix[T], p Cross[T], c MultiHead, delta Matrix[T]) (dx, dz Matrix[T], g Cross[T]) {
	q := LinearForward(x, p.Wq, p.Bq)
	kv := LinearForward(z, p.Wkv, p.Bkv)
	heads, wo, bo := LinearBackward(CrossHeadsForward(q, kv, c), p.Wo, delta)
	dq, dkv := CrossHeadsBackward(q, kv, c, heads)
	g.Wo, g.Bo = wo, bo
	dx, g.Wq, g.Bq = LinearBackward(x, p.Wq, dq)
	dz, g.Wkv, g.Bkv = LinearBackward(z, p.Wkv, dkv)
	return dx, dz, g
}

// SourceMask hides from n queries those of m keys that are padding: the columns from length on.
func SourceMask(n, m, length int) Matrix[float64] {
	hidden := make([]bool, m)
	for j := range hidden {
		hidden[j] = j >= length
	}
	return Zeros[float64](n, m).Add(PaddingMask(hidden).Tokens(0, 1))
}
