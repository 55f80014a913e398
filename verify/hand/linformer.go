package hand

import "slices"

// Linformer is multi-headed attention without a mask to mixtures of the keys and of the values. The mixtures are
// products with e and f (k', n) (E. Conti (19)):
//
//	softmax(q (e k)ᵗ/√dρ ∘ drop) (f v)       (n, dh)
type Linformer[T Number] struct {
	Before Chain[T] // as in SelfAttention
	Heads  Mixtures[T]
	After  Chain[T]
}

// Forward returns the heads between their projections.
func (l Linformer[T]) Forward(x Matrix[T]) Matrix[T] { return l.chain().Forward(x) }

// Backward goes through the heads' mixtures between the projections.
func (l Linformer[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return l.chain().Backward(x, delta)
}

func (l Linformer[T]) chain() Chain[T] { return slices.Concat(l.Before, Chain[T]{l.Heads}, l.After) }

// Mixtures are the heads of a Linformer, a link from q, k and v to y.
type Mixtures[T Number] struct {
	E, F         Matrix[T]
	Batch, Heads int
	Weights      Dropout[T] // of the weights, (B·H·n, k')
}

func (l Mixtures[T]) head(b, h, n int) Attention[T] {
	return Attention[T]{Drop: l.Weights.Head(b, h, l.Heads, n)}
}

// Forward returns the heads' results.
func (l Mixtures[T]) Forward(v Values[T]) (written Values[T]) {
	return Values[T]{"y": perHead(l.Batch, l.Heads, func(b, h int, x []Matrix[T]) []Matrix[T] {
		return []Matrix[T]{l.head(b, h, x[0].Rows).Forward(x[0], l.E.MatMul(x[1]), l.F.MatMul(x[2]))}
	}, v.at("q"), v.at("k"), v.at("v"))[0]}
}

// Backward carries Δ to the heads' queries, keys and values, and to the mixtures. The gradients of e and f are sums
// over all heads and sequences.
//
//	Δk = eᵗ ΔK',  Δv = fᵗ ΔV',  ∂e = Σ ΔK' kᵗ,  ∂f = Σ ΔV' vᵗ
func (l Mixtures[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	de, df := l.E.zeros(), l.F.zeros()
	d := perHead(l.Batch, l.Heads, func(b, h int, x []Matrix[T]) []Matrix[T] {
		q, k, v, d := x[0], x[1], x[2], x[3]
		dq, dK, dV := l.head(b, h, q.Rows).Backward(q, l.E.MatMul(k), l.F.MatMul(v), d)
		de, df = de.Add(dK.MatMul(k.Transpose())), df.Add(dV.MatMul(v.Transpose())) // ΔK' kᵗ, ΔV' vᵗ  (k', n)
		// eᵗ ΔK' (n, dρ), fᵗ ΔV' (n, dh)
		return []Matrix[T]{dq, l.E.Transpose().MatMul(dK), l.F.Transpose().MatMul(dV)}
	}, v.at("q"), v.at("k"), v.at("v"), delta["y"])
	return Values[T]{"q": d[0], "k": d[1], "v": d[2]}, append(
		gradient(l.E, "e.weight", "e", "Conti (19)", de), gradient(l.F, "f.weight", "f", "Conti (19)", df)...)
}

// Linformer returns the layer with at.c_attn, at.e, at.f and at.c_proj. The keys' bias does not cancel, because each
// mixture scales it.
func (at Site[T]) Linformer(batch, heads, qk int) Linformer[T] {
	return Linformer[T]{
		Before: slices.Concat(at.project(projection[T]{name: "c_attn", queries: qk, keys: qk}), at.firstValues()),
		Heads: Mixtures[T]{
			at.At("e").Param("weight"), at.At("f").Param("weight"), batch, heads, at.Drop("attn_dropout"),
		},
		After: at.out(),
	}
}
