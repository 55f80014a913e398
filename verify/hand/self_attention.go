package hand

import "slices"

// SelfAttention is multi-headed self-attention: one projection to packed queries, keys and values, whose columns are [Q
// | K | V], each of them [head 1 | … | head H]; the heads; and the projection of their outputs. If heads share keys and
// values, K and V have the columns of the groups.
//
//	(B·n, d) → (B·n, H·dρ+G(dρ+dh)) → (B·n, H·dh) → (B·n, d)
type SelfAttention[T Number] struct {
	QKV    Layer[T] // (d, H·dρ+G(dρ+dh))
	Norm   Layer[T] // of the queries and keys in [Q | K | V]; nil does not normalise
	Values ValueResidual[T]
	QK     int      // H·dρ
	Rotary Layer[T] // of the queries, and of the keys; nil does not rotate
	Heads  Heads[T]
	Forget Layer[T] // of the logits of gates, (d, H), for heads of ForgettingAttention; otherwise nil
	// Difference combines the results of pairs of heads, which share a value; nil does not.
	Difference *Difference[T]
	Gate       Layer[T] // of the heads' results, (d, H·dh) or (d, H); nil does not multiply
	Proj       Layer[T] // (H·dh, d)
	Drop       Dropout[T]
}

// packed returns the result of the projection, and the queries, keys and values from it.
func (l SelfAttention[T]) packed(x Matrix[T]) (qkv, q, k, v Matrix[T]) {
	qkv = forward("c_attn", l.QKV, x)
	q, k, v = splitPacked(normed(l.Norm, qkv), l.QK, l.Heads.keys(l.QK))
	if l.Rotary != nil {
		q, k = l.Rotary.Forward(q), l.Rotary.Forward(k)
	}
	return qkv, q, k, l.Values.mix(v)
}

// normed returns the norm of packed queries and keys, or qkv without a norm.
func normed[T Number](norm Layer[T], qkv Matrix[T]) Matrix[T] {
	if norm == nil {
		return qkv
	}
	return norm.Forward(qkv)
}

// normedBackward returns Δ before the norm, given its input and Δ after it.
func normedBackward[T Number](norm Layer[T], qkv, delta Matrix[T]) (d Matrix[T], g Gradients[T]) {
	if norm == nil {
		return delta, nil
	}
	return norm.Backward(qkv, delta)
}

// Forward computes rows a₃ and a₄ of Table 2.
func (l SelfAttention[T]) Forward(a2 Matrix[T]) Matrix[T] {
	_, q, k, v := l.packed(a2) //         (B·n, H·dρ), (B·n, G·dρ), (B·n, G·dh)
	if l.Forget != nil {
		q = withSums(q, l.sums().Forward(forward("c_forget", l.Forget, a2)), l.Heads.Count)
	}
	a3 := l.difference(l.Heads.Forward(q, k, l.shared(q, v))) // a₃  (B·n, H·dh)
	if l.Gate != nil {
		a3 = a3.Mul(sigmoid(forward("c_gate", l.Gate, a2)).features(a3))
	}
	a4 := forward("c_proj", l.Proj, a3) // a₄  (B·n, d)
	return l.Drop.Forward(a4)
}

// Backward computes rows Δ₄ to Δ₂.
func (l SelfAttention[T]) Backward(a2, d5 Matrix[T]) (d2 Matrix[T], g Gradients[T]) {
	packed, q, k, v := l.packed(a2)
	var z Matrix[T]
	if l.Forget != nil {
		z = forward("c_forget", l.Forget, a2)
		q = withSums(q, l.sums().Forward(z), l.Heads.Count)
	}
	v = l.shared(q, v)
	results := l.Heads.Forward(q, k, v)
	a3 := l.difference(results)
	ungated := a3
	var s, gates Matrix[T]
	if l.Gate != nil {
		s = forward("c_gate", l.Gate, a2)
		gates = sigmoid(s).features(a3)
		a3 = a3.Mul(gates)
	}
	d4, _ := l.Drop.Backward(a3, d5)               // Δ₅ dispatched
	d3, proj := backward("c_proj", l.Proj, a3, d4) // Δ₃ = Δ₅ w₃ᵗ
	heads := d3
	if l.Gate != nil {
		heads = d3.Mul(gates) // Δ ∘ g
	}
	var lambdas Gradients[T]
	if l.Difference != nil {
		heads, lambdas = l.Difference.Backward(results, heads)
	}
	dq, dk, dv := l.Heads.Backward(q, k, v, heads) // Δ_raw k, Δ_rawᵗ q, ρᵗ Δ₃
	if l.Difference != nil {
		dv = l.Difference.values().sum(dv)
	}
	var sinks Gradients[T]
	if d := l.Heads.sinks(q, k, v, heads); d.Err != nil || !d.None() {
		sinks = Gradients[T]{{Name: "sinks", Symbol: "b", Equation: "−Σ ρ₀ D", Value: d}}
	}
	var through Matrix[T] // Δ of the gates at a₂
	var forget Gradients[T]
	if l.Forget != nil {
		var dc Matrix[T]
		dq, dc = withoutSums(dq, l.Heads.Count)
		q, _ = withoutSums(q, l.Heads.Count)
		through, forget = backward("c_forget", l.Forget, a2, l.sums().Backward(z, dc))
	}
	if l.Rotary != nil {
		dq, _ = l.Rotary.Backward(q, dq)
		dk, _ = l.Rotary.Backward(k, dk)
	}
	_, convolved := l.QKV.(inTurn[T])
	_, _, values := splitPacked(packed, l.QK, l.Heads.keys(l.QK))
	dv, lambda := l.Values.back(values, dv)
	zero := l.Norm == nil && l.Rotary == nil && !convolved && l.Heads.head(0, 0).ShiftInvariant()
	dqkv, norm := normedBackward(l.Norm, packed, JoinColumns(dq, dk, dv))
	d2, qkv := backward("c_attn", l.QKV, a2, dqkv) // Δ₂ = Σ_h (…)
	if l.Forget != nil {
		d2 = d2.Add(through)
	}
	var gate Gradients[T]
	if l.Gate != nil { // Δ at x·w_g + b_g is Δ₃ ∘ a ∘ g(1 − g), summed over the features of a gate
		ds, _ := Sigmoid[T]{}.Backward(s, d3.Mul(ungated).perGate(s))
		through, gate = backward("c_gate", l.Gate, a2, ds)
		d2 = d2.Add(through)
	}
	return d2, slices.Concat(
		packedGradients(qkv, l.QK, l.Heads.keys(l.QK), "", zero).In("c_attn", ""),
		deltaAt("c_attn", "Δ_q, Δ_k, Δ_v (22), (30)", dqkv),
		lambda, norm, sinks, lambdas,
		forget.by("a₂ᵗΔ_z", "ΣΔ_z").In("c_forget", "_f"),
		gate.by("a₂ᵗ(Δ₃ ∘ a ∘ g(1 − g))", "Σ Δ₃ ∘ a ∘ g(1 − g)").In("c_gate", "_g"),
		deltaAt("heads", "Δ₃ = Δ₅ w₃ᵗ", d3),
		proj.by("a₃ᵗΔ₅", "ΣΔ₅").In("c_proj", "₃"),
		deltaAt("c_proj", "Δ₅, dispatched to a₄", d4),
	)
}

// features returns a gate for every feature of heads: (n, H) or (n, H·dh) → (n, H·dh).
func (x Matrix[T]) features(heads Matrix[T]) Matrix[T] {
	if err := firstErr(x, heads); err != nil {
		return Matrix[T]{Err: err}
	}
	if !shares(heads.Cols, x.Cols) {
		return failed[T]("%d gates for %d features", x.Cols, heads.Cols)
	}
	out := make([]Matrix[T], heads.Cols)
	for i := range out {
		gate := i * x.Cols / heads.Cols
		out[i] = x.Columns(gate, gate+1)
	}
	return JoinColumns(out...)
}

// perGate returns the sums of x over the features of each gate: (n, H·dh) → (n, H) or (n, H·dh).
func (x Matrix[T]) perGate(gates Matrix[T]) Matrix[T] {
	if err := firstErr(x, gates); err != nil {
		return Matrix[T]{Err: err}
	}
	out := make([]Matrix[T], gates.Cols)
	for i := range out {
		out[i] = x.part(i, gates.Cols).SumFeatures()
	}
	return JoinColumns(out...)
}

// shared returns the value of every pair for each of its heads, or v if there are no pairs.
func (l SelfAttention[T]) shared(q, v Matrix[T]) Matrix[T] {
	if l.Difference == nil {
		return v
	}
	return l.Difference.values().repeat(q, v)
}

// difference returns the results of the pairs, or those of the heads if there are no pairs.
func (l SelfAttention[T]) difference(results Matrix[T]) Matrix[T] {
	if l.Difference == nil {
		return results
	}
	return l.Difference.Forward(results)
}

// sums returns the running sums of the gates of the sequences.
func (l SelfAttention[T]) sums() gateSums[T] { return gateSums[T]{l.Heads.Batch} }

// gate returns the affine layer of that name, or nil if there is none.
func (at Site[T]) gate(name string) Layer[T] {
	at = at.At(name)
	if at.Optional("weight").None() && at.Optional("bias").None() {
		return nil
	}
	return at.Linear()
}

// SelfAttention returns the layer with at.c_attn and at.c_proj. The queries of all heads together have qk features.
func (at Site[T]) SelfAttention(heads Heads[T], qk int, rotary Layer[T]) Layer[T] {
	return at.selfAttention(heads, qk, rotary)
}

func (at Site[T]) selfAttention(heads Heads[T], qk int, rotary Layer[T]) SelfAttention[T] {
	var qkv Layer[T] = at.At("c_attn").Packed(qk, heads.keys(qk))
	if at.Queries != 0 {
		qkv = ScaledQueries[T]{qkv, qk, at.Queries}
	}
	return SelfAttention[T]{
		at.At("c_attn").beforeConv(qkv), at.queryKeyNorm(qk, heads.keys(qk)), at.values(), qk, rotary, heads,
		at.gate("c_forget"), nil, at.gate("c_gate"), at.At("c_proj").Linear(), at.Drop("resid_dropout"),
	}
}

// Unprojected is attention of tokens to themselves or to other tokens Z. The tokens themselves serve as queries, keys
// and values.
//
//	softmax(x zᵗ/√d + M) z      (n, d), (m, d) → (n, d)      Xu (4)–(6)
//
// Conti prints it for z ≠ x under the name of cross-attention (erratum C14).
type Unprojected[T Number] struct {
	Z     Matrix[T] // optional; x itself if absent
	Heads Heads[T]
}

func (l Unprojected[T]) keys(x Matrix[T]) Matrix[T] {
	if l.Z.None() {
		return x
	}
	return l.Z
}

// Forward computes attention of x to z.
func (l Unprojected[T]) Forward(x Matrix[T]) Matrix[T] {
	z := l.keys(x)
	return l.Heads.Forward(x, z, z)
}

// Backward returns the Δ of the queries. The Δ of z, which is both key and value, is the sum of both. If z = x, all
// three are added.
func (l Unprojected[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	z := l.keys(x)
	dq, dk, dv := l.Heads.Backward(x, z, z, delta)
	dz := dk.Add(dv)
	if l.Z.None() {
		return dq.Add(dz), nil
	}
	return dq, deltaAt(MemoryDelta, "Δk + Δv", dz)
}
