package hand

import (
	"math"
	"slices"
)

// Longformer is attention in windows, together with attention between global tokens and all others by separate
// projections. Both share one softmax (Beltagy et al. 2020, section 3.1; Conti 2.1.1). A pair of tokens uses the
// queries, keys and values of one of the two, never of both.
//
//	[ρ | ρᵍ] = softmax([q kᵗ/√dρ + M | qᵍ kᵍᵗ/√dρ + Mᵍ])      (n, 2n)
//	y = ρ v + ρᵍ vᵍ                                            (n, dh)
type Longformer[T Number] struct {
	Local, Global Chain[T] // from x to q, k and v, of either kind
	Heads         Windows[T]
	After         Chain[T] // as in SelfAttention
}

// LongformerMask holds the two masks (n, n) of one head.
type LongformerMask struct {
	Local, Global Matrix[float64]
	Drop          Matrix[float64] // dropout of the weights, (n, 2n), optional
}

// chain returns all links. The values of Global are named apart: qᵍ, kᵍ and vᵍ.
func (l Longformer[T]) chain() Chain[T] {
	return slices.Concat(l.Local, Chain[T]{global[T]{l.Global}, l.Heads}, l.After)
}

// Forward returns the heads between their projections.
func (l Longformer[T]) Forward(x Matrix[T]) Matrix[T] { return l.chain().Forward(x) }

// Backward adds the Δ of both projections at the input.
func (l Longformer[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return l.chain().Backward(x, delta)
}

// global is a link from x to qᵍ, kᵍ and vᵍ, which are q, k and v of a chain.
type global[T Number] struct{ chain Chain[T] }

// Forward returns qᵍ, kᵍ and vᵍ.
func (l global[T]) Forward(v Values[T]) (written Values[T]) {
	v = l.chain.Values(v.at("x"))
	return Values[T]{"qᵍ": v.at("q"), "kᵍ": v.at("k"), "vᵍ": v.at("v")}
}

// Backward passes Δ through the chain.
func (l global[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	return l.chain.back(v.at("x"), Values[T]{"q": delta["qᵍ"], "k": delta["kᵍ"], "v": delta["vᵍ"]})
}

// Windows are the heads of a Longformer, a link from the queries, keys and values of both kinds to y.
type Windows[T Number] struct {
	Cap          float64 // of the scores, 0 for none
	Batch, Heads int
	Masks        func(b, h int) LongformerMask
}

// packed returns the queries, keys and values of both kinds.
func (Windows[T]) packed(v Values[T]) []Matrix[T] {
	return []Matrix[T]{v.at("q"), v.at("k"), v.at("v"), v.at("qᵍ"), v.at("kᵍ"), v.at("vᵍ")}
}

// Forward returns the heads' results.
func (l Windows[T]) Forward(v Values[T]) (written Values[T]) {
	return Values[T]{"y": perHead(l.Batch, l.Heads, func(b, h int, x []Matrix[T]) []Matrix[T] {
		m := l.masks(b, h)
		rho := l.weights(x[0], x[1], x[3], x[4], m)
		return []Matrix[T]{Dropout[T]{m.Drop}.Forward(rho).MatMul(JoinTokens(x[2], x[5]))}
	}, l.packed(v)...)[0]}
}

// Backward carries Δ to both kinds of queries, keys and values.
func (l Windows[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	d := perHead(l.Batch, l.Heads, l.headBackward, append(l.packed(v), delta["y"])...)
	return Values[T]{"q": d[0], "k": d[1], "v": d[2], "qᵍ": d[3], "kᵍ": d[4], "vᵍ": d[5]}, nil
}

func (l Windows[T]) weights(q, k, qg, kg Matrix[T], m LongformerMask) Matrix[T] {
	scaled := l.scaled(q, k, qg, kg).softcap(l.Cap)
	return scaled.Add(Lift[T](Join(m.Local, m.Global))).Softmax()
}

// scaled returns [q kᵗ | qᵍ kᵍᵗ]/√dρ.
func (Windows[T]) scaled(q, k, qg, kg Matrix[T]) Matrix[T] {
	raw := Join(q.MatMul(k.Transpose()), qg.MatMul(kg.Transpose()))
	return raw.Scale(1 / math.Sqrt(float64(q.Cols)))
}

// headBackward carries Δ to both kinds of queries, keys and values.
//
//	[Δ_raw | Δ_rawᵍ] = ρ ∘ (Δρ − rowsum(Δρ ∘ ρ))/√dρ,  Δρ = Δ [v | vᵍ]ᵗ
//
// With a cap, this is multiplied by its slope.
func (l Windows[T]) headBackward(b, h int, x []Matrix[T]) []Matrix[T] {
	q, k, v, qg, kg, vg, delta := x[0], x[1], x[2], x[3], x[4], x[5], x[6]
	m, n := l.masks(b, h), q.Rows
	drop, rho := Dropout[T]{m.Drop}, l.weights(q, k, qg, kg, m)
	values := drop.Forward(rho).Transpose().MatMul(delta)                                        // [Δv; Δvᵍ]   (2n, dh)
	drho := drop.Forward(delta.MatMul(JoinTokens(v, vg).Transpose()))                            //             (n, 2n)
	dcapped := drho.Sub(drho.Mul(rho).Sum()).Mul(rho)                                            //             (n, 2n)
	draw := capped(l.scaled(q, k, qg, kg), dcapped, l.Cap).Scale(1 / math.Sqrt(float64(q.Cols))) //             (n, 2n)
	local, global := draw.Columns(0, n), draw.Columns(n, 2*n)
	return []Matrix[T]{
		local.MatMul(k), local.Transpose().MatMul(q), values.Tokens(0, n),
		global.MatMul(kg), global.Transpose().MatMul(qg), values.Tokens(n, 2*n),
	}
}

// Longformer returns the layer with at.c_attn, at.c_attn_global and at.c_proj, without a cap.
func (at Site[T]) Longformer(
	batch, heads, qk int, rotary Layer[T], masks func(b, h int) LongformerMask,
) Longformer[T] {
	local := projection[T]{name: "c_attn", queries: qk, keys: qk, rotary: rotary}
	wide := local
	wide.name, wide.norms, wide.symbols = "c_attn_global", "c_attn_global", "ᵍ"
	return Longformer[T]{
		at.project(local), at.project(wide), Windows[T]{Batch: batch, Heads: heads, Masks: masks}, at.out(),
	}
}
