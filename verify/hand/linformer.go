package hand

import "slices"

// Linformer is multi-headed attention without a mask to mixtures of the keys and of the values. The mixtures are
// products with e and f (k', n) (E. Conti (19)):
//
//	softmax(q (e k)ᵗ/√dρ ∘ drop) (f v)       (n, dh)
type Linformer[T Number] struct {
	QKV, Norm    Layer[T] // (d, H(2dρ+dh)); of queries and keys, nil does not normalise
	QK           int      // H·dρ
	E, F         Matrix[T]
	Batch, Heads int
	Weights      Dropout[T] // of the weights, (B·H·n, k')
	Proj         Layer[T]   // (H·dh, d)
	Drop         Dropout[T]
}

func (l Linformer[T]) head(b, h, n int) Attention[T] {
	return Attention[T]{Drop: l.Weights.Head(b, h, l.Heads, n)}
}

func (l Linformer[T]) heads(q, k, v Matrix[T]) Matrix[T] {
	return perHead(l.Batch, l.Heads, func(b, h int, x []Matrix[T]) []Matrix[T] {
		return []Matrix[T]{l.head(b, h, x[0].Rows).Forward(x[0], l.E.MatMul(x[1]), l.F.MatMul(x[2]))}
	}, q, k, v)[0]
}

// Forward returns the heads between their projections.
func (l Linformer[T]) Forward(x Matrix[T]) Matrix[T] {
	qkv := normed(l.Norm, forward("c_attn", l.QKV, x))
	return l.Drop.Forward(forward("c_proj", l.Proj, l.heads(splitPacked(qkv, l.QK, l.QK))))
}

// Backward carries Δ to the heads' queries, keys and values, and to the mixtures. The gradients of e and f are sums
// over all heads and sequences.
//
//	Δk = eᵗ ΔK',  Δv = fᵗ ΔV',  ∂e = Σ ΔK' kᵗ,  ∂f = Σ ΔV' vᵗ
func (l Linformer[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	packed := forward("c_attn", l.QKV, x)
	q, k, v := splitPacked(normed(l.Norm, packed), l.QK, l.QK)
	out := l.heads(q, k, v)
	d, _ := l.Drop.Backward(out, delta)
	d, proj := backward("c_proj", l.Proj, out, d)
	de, df := l.E.zeros(), l.F.zeros()
	dqkv := perHead(l.Batch, l.Heads, func(b, h int, x []Matrix[T]) []Matrix[T] {
		q, k, v, d := x[0], x[1], x[2], x[3]
		dq, dK, dV := l.head(b, h, q.Rows).Backward(q, l.E.MatMul(k), l.F.MatMul(v), d)
		de, df = de.Add(dK.MatMul(k.Transpose())), df.Add(dV.MatMul(v.Transpose())) // ΔK' kᵗ, ΔV' vᵗ  (k', n)
		// eᵗ ΔK' (n, dρ), fᵗ ΔV' (n, dh)
		return []Matrix[T]{dq, l.E.Transpose().MatMul(dK), l.F.Transpose().MatMul(dV)}
	}, q, k, v, d)
	dpacked, norm := normedBackward(l.Norm, packed, JoinColumns(dqkv...))
	dx, qkv := backward("c_attn", l.QKV, x, dpacked)
	return dx, slices.Concat(
		packedGradients(qkv, l.QK, l.QK, "", false).In("c_attn", ""), // not zero: each mixture scales the keys' bias
		norm,
		gradient(l.E, "e.weight", "e", "Conti (19)", de), gradient(l.F, "f.weight", "f", "Conti (19)", df),
		proj.by("a₃ᵗΔ₅", "ΣΔ₅").In("c_proj", "₃"),
	)
}

// Linformer returns the layer with at.c_attn, at.e, at.f and at.c_proj.
func (at Site[T]) Linformer(batch, heads, qk int) Layer[T] {
	qkv := at.At("c_attn")
	return Linformer[T]{
		qkv.beforeConv(qkv.Packed(qk, qk)), at.queryKeyNorm(qk, qk), qk, at.At("e").Param("weight"),
		at.At("f").Param("weight"), batch, heads,
		at.Drop("attn_dropout"), at.At("c_proj").Linear(), at.Drop("resid_dropout"),
	}
}
