package hand

import "slices"

// mamba2 is the link of the heads of Mamba-2, which have a matrix as their state, and a time step Δ_t for every token.
// The states are the states of a recurrence with ln α = −e^a ∘ Δ_t and β = Δ_t. With the numbers D of the heads,
//
//	Δ_t = softplus(z)    y = o = q S + D v        (B·n, H·dh)
type mamba2[T Number] struct {
	a, d   Matrix[T]     // (1, H)
	states headStates[T] // S of every head
}

// steps returns β = Δ_t and ln α.
func (l mamba2[T]) steps(z Matrix[T]) (beta, decay Matrix[T]) {
	beta = softplus(z)
	return beta, beta.Mul(l.a.Exp().Scale(-1))
}

// Forward returns o, from q, k, v and z.
func (l mamba2[T]) Forward(v Values[T]) (written Values[T]) {
	beta, decay := l.steps(v.at("z"))
	read := l.states.read(v.at("q"), v.at("k"), v.at("v"), decay, beta)
	return Values[T]{"y": read.Add(v.at("v").Mul(l.d.features(v.at("v"))))}
}

// Backward carries Δ through the recurrence. The time steps get it from the values that they write and from the gates:
//
//	Δz = (Δβ − e^a ∘ Δ(ln α)) ∘ σ(z)    ∂a = Σ Δ(ln α) ∘ ln α
//	∂D = Σ Δo ∘ v, over the tokens and the features of a head
func (l mamba2[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	q, k, value, z, do := v.at("q"), v.at("k"), v.at("v"), v.at("z"), delta["y"]
	beta, decay := l.steps(z)
	d := l.states.back(q, k, value, decay, beta, do)
	dv := d[2].Add(do.Mul(l.d.features(value)))
	dz := d[4].Add(d[3].Mul(l.a.Exp().Scale(-1))).Mul(sigmoid(z))
	return Values[T]{"q": d[0], "k": d[1], "v": dv, "z": dz}, append(
		gradient(l.a, "c_decay.a_log", "a", "Σ Δ ∘ ln α", d[3].Mul(decay).SumTokens()),
		gradient(l.d, "d_skip", "D", "Σ Δ ∘ v", do.Mul(value).SumTokens().perGate(l.d))...)
}

// sharedQK repeats the queries and keys of every group in [q | k | v] for each of its heads.
type sharedQK[T Number] struct {
	qk    int      // G·dρ
	heads Heads[T] // with their groups
}

// repeat returns what every head has: (n, G·dρ) → (n, H·dρ).
func (l sharedQK[T]) repeat(x Matrix[T]) Matrix[T] {
	heads := Zeros[T](1, max(1, l.heads.Count)) // one column for each
	return l.heads.repeat(heads, x)
}

// Forward returns [q | k | v].
func (l sharedQK[T]) Forward(x Matrix[T]) Matrix[T] {
	q, k, v := splitPacked(x, l.qk, l.qk)
	return Join(l.repeat(q), l.repeat(k), v)
}

// Backward returns the sums of Δ over the heads of every group.
func (l sharedQK[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	all := l.repeat(x.Columns(0, l.qk)).Cols // H·dρ
	dq, dk, dv := splitPacked(delta, all, all)
	return Join(l.heads.sum(dq), l.heads.sum(dk), dv), nil
}

// Mamba2 returns the layer of Mamba-2 with at.c_attn, at.c_attn.conv, at.c_decay, at.d_skip, at.c_gate, at.norm and
// at.c_proj, for sequences of length tokens. The queries of all heads have qk features, and groups of heads share them.
// The norm is of the features of all heads.
//
//	y = norm(SiLU(x w_g + b_g) ∘ o) w_proj + b_proj        (B·n, d)
func (at Site[T]) Mamba2(batch, heads, groups, qk, length int, rotary Layer[T]) Layer[T] {
	attn, decay := at.At("c_attn"), at.At("c_decay")
	shared := Heads[T]{Batch: batch, Count: heads, Groups: groups}
	keys := shared.keys(qk) // of the groups
	projection := append(chain[T]{
		{"", attn.Packed(keys, keys)}, {"conv", attn.shortConv(length)}, {"", SiLU[T]{}},
	}.rotated(keys, rotary), link[T]{"", sharedQK[T]{keys, shared}})
	return slices.Concat(Chain[T]{
		Apply[T]{Name: "c_attn", From: "x", To: "qkv", Layer: projection}, unpack[T]{qk, qk},
		Apply[T]{Name: "c_decay", From: "x", To: "z", Layer: decay.Linear(), Index: "_Δ"},
		mamba2[T]{
			decay.Param("a_log"), at.Param("d_skip"),
			headStates[T]{Batch: batch, Heads: heads, Before: at.Optional("state")},
		},
		Apply[T]{Name: "c_gate", From: "x", To: "z", Layer: at.At("c_gate").Linear(), Index: "_g"},
		Apply[T]{From: "z", To: "z", Layer: SiLU[T]{}}, multiply[T]{"z", "y"},
		Apply[T]{Name: "norm", From: "y", To: "y", Layer: at.At("norm").RMSNorm()},
	}, at.out())
}
