package papers

import "github.com/pedestrian-ml/pedestrian/verify/hand"

// attentionHead returns a head with an optional mask and an optional dropout of its weights.
func attentionHead[T hand.Number](mask, drop matrix) hand.Attention[T] {
	a := hand.Attention[T]{Mask: mask}
	a.Drop.Mask = drop
	return a
}

func attentionWeights[T hand.Number](q, k hand.Matrix[T], mask matrix) hand.Matrix[T] {
	return attentionHead[T](mask, matrix{}).Weights(q, k)
}

func attentionForward[T hand.Number](q, k, v hand.Matrix[T], mask, drop matrix) hand.Matrix[T] {
	return attentionHead[T](mask, drop).Forward(q, k, v)
}

func attentionBackward[T hand.Number](
	q, k, v hand.Matrix[T], mask, drop matrix, delta hand.Matrix[T],
) (dq, dk, dv hand.Matrix[T]) {
	return attentionHead[T](mask, drop).Backward(q, k, v, delta)
}

// headParameters holds the parameters of one head, with optional biases: queries and keys (d, dρ), values (d, dh) (17).
type headParameters[T hand.Number] struct {
	Wq, Bq, Wk, Bk, Wv, Bv hand.Matrix[T]
}

// headForward computes one head of self-attention with its three linear layers, Table 1 downwards.
func headForward[T hand.Number](x hand.Matrix[T], p headParameters[T], mask, drop matrix) hand.Matrix[T] {
	q, k, v := linearForward(x, p.Wq, p.Bq), linearForward(x, p.Wk, p.Bk), linearForward(x, p.Wv, p.Bv)
	return attentionForward(q, k, v, mask, drop)
}

// headBackward computes Table 1 upwards.
func headBackward[T hand.Number](
	x hand.Matrix[T], p headParameters[T], mask, drop matrix, delta hand.Matrix[T],
) (dx hand.Matrix[T], g headParameters[T]) {
	q, k, v := linearForward(x, p.Wq, p.Bq), linearForward(x, p.Wk, p.Bk), linearForward(x, p.Wv, p.Bv)
	dq, dk, dv := attentionBackward(q, k, v, mask, drop, delta)
	var fromQ, fromK, fromV hand.Matrix[T]
	fromQ, g.Wq, g.Bq = linearBackward(x, p.Wq, dq) // (30.a) (31.a) (32.a)
	fromK, g.Wk, g.Bk = linearBackward(x, p.Wk, dk) // (30.b) (31.b) (32.b)
	fromV, g.Wv, g.Bv = linearBackward(x, p.Wv, dv) // (22)   (23)   (24)
	return fromV.Add(fromQ).Add(fromK), g           // (n, d)   (33)
}

// multiHead describes how a packed (B·n, H(2dρ+dh)) matrix of queries, keys and values is divided: its columns are [Q |
// K | V], each of them [head 1 | … | head H].
type multiHead struct {
	Batch, Heads, QK int      // B, H, dρ
	Masks            []matrix // additive (n, n), one per sequence, or per sequence and head; none: no mask
	Drop             matrix   // dropout of the weights, (B·H·n, n): sequence, head, query
}

func (m multiHead) mask(b, h int) matrix {
	switch {
	case len(m.Masks) == 0:
		return matrix{}
	case len(m.Masks) == m.Batch*m.Heads && m.Heads > 1:
		return m.Masks[b*m.Heads+h]
	}
	return m.Masks[b]
}

// handHeads returns the heads in the form of the layers by hand.
func handHeads[T hand.Number](m multiHead) hand.Heads[T] {
	return hand.Heads[T]{Batch: m.Batch, Count: m.Heads, Head: func(b, h int) hand.Head[T] {
		a := attentionHead[T](m.mask(b, h), m.Drop)
		a.Drop = a.Drop.Head(b, h, m.Heads, m.Drop.Rows/(m.Batch*m.Heads))
		return a
	}}
}

// unpacked returns the parts of [Q | K | V]; packed is its inverse.
func unpacked[T hand.Number](qkv hand.Matrix[T], m multiHead) (q, k, v hand.Matrix[T]) {
	qk := m.Heads * m.QK
	return qkv.Columns(0, qk), qkv.Columns(qk, 2*qk), qkv.Columns(2*qk, qkv.Cols)
}

func packed[T hand.Number](q, k, v hand.Matrix[T]) hand.Matrix[T] { return hand.Join(q, k, v) }

// split returns the queries, keys and values of a head of a sequence.
func split[T hand.Number](m multiHead, qkv hand.Matrix[T], b, h int) (q, k, v hand.Matrix[T]) {
	q, k, v = unpacked(qkv, m)
	n := qkv.Rows / m.Batch
	own := func(x hand.Matrix[T]) hand.Matrix[T] {
		return x.Tokens(b*n, (b+1)*n).Columns(h*x.Cols/m.Heads, (h+1)*x.Cols/m.Heads)
	}
	return own(q), own(k), own(v)
}

func multiHeadForward[T hand.Number](qkv hand.Matrix[T], m multiHead) hand.Matrix[T] {
	return handHeads[T](m).Forward(unpacked(qkv, m))
}

func multiHeadBackward[T hand.Number](qkv hand.Matrix[T], m multiHead, delta hand.Matrix[T]) hand.Matrix[T] {
	q, k, v := unpacked(qkv, m)
	return packed(handHeads[T](m).Backward(q, k, v, delta))
}

// crossParameters holds the parameters of attention to another sequence.
type crossParameters[T hand.Number] struct {
	Wq, Bq, Wkv, Bkv, Wo, Bo hand.Matrix[T]
}

func crossOf[T hand.Number](p crossParameters[T], z hand.Matrix[T], c multiHead) hand.CrossAttention[T] {
	return hand.CrossAttention[T]{
		Query: hand.Linear[T]{Weight: p.Wq, Bias: p.Bq}, KV: hand.Linear[T]{Weight: p.Wkv, Bias: p.Bkv},
		QK: c.Heads * c.QK, Memory: z,
		Heads: handHeads[T](c), Proj: hand.Linear[T]{Weight: p.Wo, Bias: p.Bo},
	}
}

func crossAttentionForward[T hand.Number](x, z hand.Matrix[T], p crossParameters[T], c multiHead) hand.Matrix[T] {
	return crossOf(p, z, c).Forward(x)
}

func crossAttentionBackward[T hand.Number](
	x, z hand.Matrix[T], p crossParameters[T], c multiHead, delta hand.Matrix[T],
) (dx, dz hand.Matrix[T], d crossParameters[T]) {
	dx, g := crossOf(p, z, c).Backward(x, delta)
	by := g.Parameters()
	return dx, deltaOf(g, hand.MemoryDelta), crossParameters[T]{
		by["c_q.weight"], by["c_q.bias"], by["c_kv.weight"], by["c_kv.bias"], by["c_proj.weight"], by["c_proj.bias"],
	}
}

// deltaOf returns the Δ of that name.
func deltaOf[T hand.Number](g hand.Gradients[T], name string) (d hand.Matrix[T]) {
	for _, e := range g {
		if e.Delta && e.Name == name {
			d = e.Value
		}
	}
	return d
}

// unprojectedForward computes one head of attention of x to z without projections.
func unprojectedForward[T hand.Number](x, z hand.Matrix[T], mask matrix) hand.Matrix[T] {
	heads := hand.Heads[T]{
		Batch: 1, Count: 1, Head: func(int, int) hand.Head[T] { return hand.Attention[T]{Mask: mask} },
	}
	return hand.Unprojected[T]{Z: z, Heads: heads}.Forward(x)
}

func cachedForward[T hand.Number](c hand.Cache[T], q, k, v hand.Matrix[T]) (hand.Matrix[T], hand.Cache[T]) {
	return c.Attend(q, k, v)
}
