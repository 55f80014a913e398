package verify

import "math"

// AttentionWeights returns how much each query attends to each key,
//
//	ρ = softmax(q kᵗ/√dρ + M)
//
// with an additive mask M, if any (erratum B1).
func AttentionWeights[T Number](q, k Matrix[T], mask Matrix[float64]) Matrix[T] {
	raw := q.MatMul(k.Transpose())                      // q kᵗ    (n, n)   (10)
	scaled := raw.Scale(1 / math.Sqrt(float64(q.Cols))) //         (n, n)   (12)
	causal := scaled.plus(Lift[T](mask))                //         (n, n)   (13)
	return causal.Softmax()                             // ρ       (n, n)   (15)
}

// AttentionForward mixes the values by the attention weights. drop, when given,
// is the dropout mask of the weights (0 or 1/(1−p)).
//
//	a = (ρ ∘ drop) v       (n, dh)              (16), (18)
func AttentionForward[T Number](q, k, v Matrix[T], mask, drop Matrix[float64]) Matrix[T] {
	rho := AttentionWeights(q, k, mask)
	return DropoutForward(rho, drop).MatMul(v)
}

// AttentionBackward carries Δ from the output of a head to its queries, keys and
// values. A masked weight is exactly 0 and so is its Δ_causal: the mask needs no
// line of its own (27).
func AttentionBackward[T Number](q, k, v Matrix[T], mask, drop Matrix[float64], delta Matrix[T]) (dq, dk, dv Matrix[T]) {
	rho := AttentionWeights(q, k, mask)
	dv = DropoutForward(rho, drop).Transpose().MatMul(delta)   // ρᵗ Δ                    (n, dh)
	drho := DropoutBackward(drop, delta.MatMul(v.Transpose())) // Δ vᵗ                    (n, n)
	rowsum := drho.Mul(rho).SumFeatures()                      // Δvᵗ ⊖ ρ                 (n, 1)
	dcausal := drho.Sub(rowsum).Mul(rho)                       // Δ_causal                (n, n)   (25)
	draw := dcausal.Scale(1 / math.Sqrt(float64(q.Cols)))      // Δ_raw = Δ_scaled/√dρ    (n, n)   (28)
	dq = draw.MatMul(k)                                        // Δ_raw k                 (n, dρ)
	dk = draw.Transpose().MatMul(q)                            // Δ_rawᵗ q                (n, dρ)
	return dq, dk, dv
}

// Head holds the parameters of one attention head, biases optional:
// queries and keys (d, dρ), values (d, dh)      (17)
type Head[T Number] struct {
	Wq, Bq, Wk, Bk, Wv, Bv Matrix[T]
}

// HeadForward is one head of self-attention with its three linear layers.
//
//	(n, d) → (n, dh)       Table 1 downwards
func HeadForward[T Number](x Matrix[T], p Head[T], mask, drop Matrix[float64]) Matrix[T] {
	q := LinearForward(x, p.Wq, p.Bq)            // (n, dρ)  (9.a)
	k := LinearForward(x, p.Wk, p.Bk)            // (n, dρ)  (9.b)
	v := LinearForward(x, p.Wv, p.Bv)            // (n, dh)  (4)
	return AttentionForward(q, k, v, mask, drop) // (n, dh)  (18)
}

// HeadBackward is Table 1 upwards. The gradient of Bk comes out as zero up to
// rounding whatever the parameters are (29).
func HeadBackward[T Number](x Matrix[T], p Head[T], mask, drop Matrix[float64], delta Matrix[T]) (dx Matrix[T], g Head[T]) {
	q := LinearForward(x, p.Wq, p.Bq)
	k := LinearForward(x, p.Wk, p.Bk)
	v := LinearForward(x, p.Wv, p.Bv)
	dq, dk, dv := AttentionBackward(q, k, v, mask, drop, delta)
	var fromQ, fromK, fromV Matrix[T]
	fromQ, g.Wq, g.Bq = LinearBackward(x, p.Wq, dq) // (30.a) (31.a) (32.a)
	fromK, g.Wk, g.Bk = LinearBackward(x, p.Wk, dk) // (30.b) (31.b) (32.b)
	fromV, g.Wv, g.Bv = LinearBackward(x, p.Wv, dv) // (22)   (23)   (24)
	return fromV.Add(fromQ).Add(fromK), g           // (n, d)   (33)
}

// MultiHead says how a packed (B·n, H(2dρ+dh)) matrix of queries, keys and values
// is divided: its columns are [Q | K | V], each of them [head 1 | … | head H].
type MultiHead struct {
	Batch, Heads, QK int               // B, H, dρ
	Masks            []Matrix[float64] // additive (n, n), one per sequence, or per sequence and head; none: no mask
	Drop             Matrix[float64]   // dropout of the weights, (B·H·n, n): sequence, head, query
}

// MultiHeadForward lets every head attend on its own and puts their outputs side
// by side.
//
//	(B·n, H(2dρ+dh)) → (B·n, H·dh)              (34)
func MultiHeadForward[T Number](qkv Matrix[T], m MultiHead) Matrix[T] {
	sequences := make([]Matrix[T], m.Batch)
	for b := range m.Batch {
		heads := make([]Matrix[T], m.Heads)
		for h := range m.Heads {
			q, k, v := split(m, qkv, b, h)
			heads[h] = AttentionForward(q, k, v, m.maskOf(b, h), m.drop(b, h, q.Rows))
		}
		sequences[b] = JoinColumns(heads...)
	}
	return JoinTokens(sequences...)
}

// MultiHeadBackward hands each head its columns of Δ and packs the heads' Δ as
// the forward was packed. The sum over heads of (35) is the linear layer's
// Δ wᵗ, whose columns are the heads.
func MultiHeadBackward[T Number](qkv Matrix[T], m MultiHead, delta Matrix[T]) Matrix[T] {
	sequences := make([]Matrix[T], m.Batch)
	for b := range m.Batch {
		parts := make([]Matrix[T], 3*m.Heads)
		for h := range m.Heads {
			q, k, v := split(m, qkv, b, h)
			own := delta.Tokens(b*q.Rows, (b+1)*q.Rows).Columns(h*v.Cols, (h+1)*v.Cols)
			parts[h], parts[m.Heads+h], parts[2*m.Heads+h] =
				AttentionBackward(q, k, v, m.maskOf(b, h), m.drop(b, h, q.Rows), own)
		}
		sequences[b] = JoinColumns(parts...)
	}
	return JoinTokens(sequences...)
}

func split[T Number](m MultiHead, qkv Matrix[T], b, h int) (q, k, v Matrix[T]) {
	n, values := qkv.Rows/m.Batch, qkv.Cols-2*m.Heads*m.QK
	if qkv.Err == nil && (n*m.Batch != qkv.Rows || values < 0 || values%m.Heads != 0) {
		qkv = failed[T]("(%d, %d) for %d sequences, %d heads, queries of %d", qkv.Rows, qkv.Cols, m.Batch, m.Heads, m.QK)
	}
	own, size := qkv.Tokens(b*n, (b+1)*n), values/m.Heads
	q = own.Columns(h*m.QK, (h+1)*m.QK)
	k = own.Columns((m.Heads+h)*m.QK, (m.Heads+h+1)*m.QK)
	v = own.Columns(2*m.Heads*m.QK+h*size, 2*m.Heads*m.QK+(h+1)*size)
	return q, k, v
}

// maskOf is the mask of a head.
func (m MultiHead) maskOf(b, h int) Matrix[float64] {
	if len(m.Masks) == m.Batch*m.Heads && m.Heads > 1 {
		return m.Masks[b*m.Heads+h]
	}
	return m.mask(b)
}

// mask is the mask of all heads of a sequence.
func (m MultiHead) mask(b int) Matrix[float64] {
	if len(m.Masks) == 0 {
		return Matrix[float64]{}
	}
	if b >= len(m.Masks) {
		return failed[float64]("%d masks for %d sequences", len(m.Masks), m.Batch)
	}
	return m.Masks[b]
}

func (m MultiHead) drop(b, h, n int) Matrix[float64] {
	if m.Drop.None() {
		return m.Drop
	}
	from := (b*m.Heads + h) * n
	return m.Drop.Tokens(from, from+n)
}
