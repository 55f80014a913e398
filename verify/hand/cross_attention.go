package hand

import "slices"

// CrossAttention is attention of the tokens x (B·n, d) of a target to the tokens z (B·m, d) of a source. R. Xu
// describes K and V as "the same thing" (erratum X12); E. Conti has no projections (erratum C14).
//
//	y = heads(x w_q + b_q, z w_kv + b_kv) w_o + b_o    (B·n, d)
type CrossAttention[T Number] struct {
	Query  Layer[T]  // (d, H·dρ)
	KV     Layer[T]  // (d, H(dρ+dh)), its columns [K | V]
	QK     int       // H·dρ
	Memory Matrix[T] // z
	Heads  Heads[T]
	Proj   Layer[T] // (H·dh, d)
	Drop   Dropout[T]
}

func (l CrossAttention[T]) queries(x Matrix[T]) (q, k, v Matrix[T]) {
	kv := forward("c_kv", l.KV, l.Memory)
	return forward("c_q", l.Query, x), kv.Columns(0, l.QK), kv.Columns(l.QK, kv.Cols)
}

// Forward computes attention with n queries and m keys.
func (l CrossAttention[T]) Forward(x Matrix[T]) Matrix[T] {
	return l.Drop.Forward(forward("c_proj", l.Proj, l.Heads.Forward(l.queries(x))))
}

// Backward returns Δ at x and the gradients of the parameters. The gradients include Δ at z, under the name
// MemoryDelta.
//
//	Δx = Δq w_qᵗ,  Δz = [Δk | Δv] w_kvᵗ = Δk w_kᵗ + Δv w_vᵗ
func (l CrossAttention[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	q, k, v := l.queries(x)
	heads := l.Heads.Forward(q, k, v)
	d, _ := l.Drop.Backward(heads, delta)
	d, proj := backward("c_proj", l.Proj, heads, d)
	dq, dk, dv := l.Heads.Backward(q, k, v, d)
	dx, query := backward("c_q", l.Query, x, dq)
	dz, kv := backward("c_kv", l.KV, l.Memory, Join(dk, dv))
	return dx, slices.Concat(
		deltaAt(MemoryDelta, "Δz = Δk w_kᵗ + Δv w_vᵗ", dz),
		query.In("c_q", "_q"), l.parts(kv, l.Heads.head(0, 0).ShiftInvariant()).In("c_kv", ""), proj.In("c_proj", "_o"),
	)
}

// MemoryDelta is the name of the Δ at the encoder's output, returned by cross-attention.
const MemoryDelta = "/memory"

// parts returns the gradients of keys and values. In a softmax the keys' bias cancels.
func (l CrossAttention[T]) parts(g Gradients[T], softmax bool) (out Gradients[T]) {
	for _, e := range g {
		if e.Name != "weight" && e.Name != "bias" {
			out = append(out, e)
			continue
		}
		k, v := e, e
		k.Part, k.Symbol, k.Value, k.Zero = "k", e.Symbol+"_k", e.Value.Columns(0, l.QK), softmax && e.Name == "bias"
		v.Part, v.Symbol, v.Value = "v", e.Symbol+"_v", e.Value.Columns(l.QK, e.Value.Cols)
		out = append(out, k, v)
	}
	return out
}

// CrossAttention returns the layer with at.c_q, at.c_kv and at.c_proj, and queries of qk features for all heads
// together.
func (at Site[T]) CrossAttention(heads Heads[T], qk int, z Matrix[T]) Layer[T] {
	return CrossAttention[T]{
		at.At("c_q").Linear(), at.At("c_kv").Linear(), qk, z, heads, at.At("c_proj").Linear(), at.Drop("resid_dropout"),
	}
}
