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
	Local, Global Layer[T] // to packed queries, keys and values  (d, H(2dρ+dh))
	Norm, NormG   Layer[T] // of the queries and keys of both; nil does not normalise
	QK            int      // H·dρ
	Cap           float64  // of the scores, 0 for none
	Rotary        Layer[T] // of queries and keys; nil does not rotate
	Batch, Heads  int
	Masks         func(b, h int) LongformerMask
	Proj          Layer[T] // (H·dh, d)
	Drop          Dropout[T]
}

// LongformerMask holds the two masks (n, n) of one head.
type LongformerMask struct {
	Local, Global Matrix[float64]
	Drop          Matrix[float64] // dropout of the weights, (n, 2n), optional
}

// queries returns the results of the projections, and the queries, keys and values of both kinds from them, [q, k, v,
// qᵍ, kᵍ, vᵍ].
func (l Longformer[T]) queries(x Matrix[T]) (near, far Matrix[T], packed []Matrix[T]) {
	near, far = forward("c_attn", l.Local, x), forward("c_attn_global", l.Global, x)
	q, k, v := splitPacked(normed(l.Norm, near), l.QK, l.QK)
	qg, kg, vg := splitPacked(normed(l.NormG, far), l.QK, l.QK)
	if l.Rotary != nil {
		q, k, qg, kg = l.Rotary.Forward(q), l.Rotary.Forward(k), l.Rotary.Forward(qg), l.Rotary.Forward(kg)
	}
	return near, far, []Matrix[T]{q, k, v, qg, kg, vg}
}

func (l Longformer[T]) heads(packed []Matrix[T]) Matrix[T] {
	return perHead(l.Batch, l.Heads, func(b, h int, x []Matrix[T]) []Matrix[T] {
		m := l.masks(b, h)
		rho := l.weights(x[0], x[1], x[3], x[4], m)
		return []Matrix[T]{Dropout[T]{m.Drop}.Forward(rho).MatMul(JoinTokens(x[2], x[5]))}
	}, packed...)[0]
}

func (l Longformer[T]) weights(q, k, qg, kg Matrix[T], m LongformerMask) Matrix[T] {
	scaled := l.scaled(q, k, qg, kg).softcap(l.Cap)
	return scaled.Add(Lift[T](JoinColumns(m.Local, m.Global))).Softmax()
}

// scaled returns [q kᵗ | qᵍ kᵍᵗ]/√dρ.
func (Longformer[T]) scaled(q, k, qg, kg Matrix[T]) Matrix[T] {
	raw := JoinColumns(q.MatMul(k.Transpose()), qg.MatMul(kg.Transpose()))
	return raw.Scale(1 / math.Sqrt(float64(q.Cols)))
}

// Forward returns the heads between their projections.
func (l Longformer[T]) Forward(x Matrix[T]) Matrix[T] {
	_, _, packed := l.queries(x)
	return l.Drop.Forward(forward("c_proj", l.Proj, l.heads(packed)))
}

// headBackward carries Δ to both kinds of queries, keys and values.
//
//	[Δ_raw | Δ_rawᵍ] = ρ ∘ (Δρ − rowsum(Δρ ∘ ρ))/√dρ,  Δρ = Δ [v | vᵍ]ᵗ
//
// With a cap, this is multiplied by its slope.
func (l Longformer[T]) headBackward(b, h int, x []Matrix[T]) []Matrix[T] {
	q, k, v, qg, kg, vg, delta := x[0], x[1], x[2], x[3], x[4], x[5], x[6]
	m, n := l.masks(b, h), q.Rows
	drop, rho := Dropout[T]{m.Drop}, l.weights(q, k, qg, kg, m)
	values := drop.Forward(rho).Transpose().MatMul(delta)                                        // [Δv; Δvᵍ]   (2n, dh)
	drho := drop.Forward(delta.MatMul(JoinTokens(v, vg).Transpose()))                            //             (n, 2n)
	dcapped := drho.Sub(drho.Mul(rho).SumFeatures()).Mul(rho)                                    //             (n, 2n)
	draw := capped(l.scaled(q, k, qg, kg), dcapped, l.Cap).Scale(1 / math.Sqrt(float64(q.Cols))) //             (n, 2n)
	local, global := draw.Columns(0, n), draw.Columns(n, 2*n)
	return []Matrix[T]{
		local.MatMul(k), local.Transpose().MatMul(q), values.Tokens(0, n),
		global.MatMul(kg), global.Transpose().MatMul(qg), values.Tokens(n, 2*n),
	}
}

// Backward adds the Δ of both projections at the input.
func (l Longformer[T]) Backward(x, d5 Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	near, far, packed := l.queries(x)
	out := l.heads(packed)
	d4, _ := l.Drop.Backward(out, d5)
	d3, proj := backward("c_proj", l.Proj, out, d4)
	d := perHead(l.Batch, l.Heads, l.headBackward, append(packed, d3)...)
	if l.Rotary != nil {
		for _, i := range []int{0, 1, 3, 4} {
			d[i], _ = l.Rotary.Backward(packed[i], d[i])
		}
	}
	dnear, norm := normedBackward(l.Norm, near, JoinColumns(d[:3]...))
	dfar, normG := normedBackward(l.NormG, far, JoinColumns(d[3:]...))
	fromNear, local := backward("c_attn", l.Local, x, dnear)
	fromFar, global := backward("c_attn_global", l.Global, x, dfar)
	return fromNear.Add(fromFar), slices.Concat(
		packedGradients(local, l.QK, l.QK, "", false).In("c_attn", ""),
		packedGradients(global, l.QK, l.QK, "ᵍ", false).In("c_attn_global", ""),
		norm, normG.In("c_attn_global", ""),
		deltaAt("heads", "Δ₃ = Δ₅ w₃ᵗ", d3),
		proj.by("a₃ᵗΔ₅", "ΣΔ₅").In("c_proj", "₃"),
		deltaAt("c_proj", "Δ₅, dispatched to a₄", d4),
	)
}

// Longformer returns the layer with at.c_attn, at.c_attn_global and at.c_proj, without a cap.
func (at Site[T]) Longformer(
	batch, heads, qk int, rotary Layer[T], masks func(b, h int) LongformerMask,
) Longformer[T] {
	local, global := at.At("c_attn"), at.At("c_attn_global")
	return Longformer[T]{
		Local: local.beforeConv(local.Packed(qk, qk)), Global: global.beforeConv(global.Packed(qk, qk)),
		Norm: at.queryKeyNorm(qk, qk), NormG: at.At("c_attn_global").queryKeyNorm(qk, qk), QK: qk, Rotary: rotary,
		Batch: batch, Heads: heads, Masks: masks, Proj: at.At("c_proj").Linear(), Drop: at.Drop("resid_dropout"),
	}
}
