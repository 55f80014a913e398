package verify

import "fmt"

// Block holds the activations of one transformer block under their numbers in
// Table 2. A post-norm block normalises the sums S1 and S2 and has no use for A2
// and A6; a pre-norm block adds up to A5 and A10 directly.
type Block[T Number] struct {
	A1, A2, QKV, A3, A4, A5, A6, A7, A8, A9, A10 Matrix[T]
	S1, S2                                       Matrix[T]
}

// BlockForward runs block i of the model c on x alone.
func BlockForward[T Number](c GPT, p Parameters[T], i int, x Matrix[T]) (Block[T], error) {
	r := run[T]{GPT: c, p: p}
	b := r.block(i, x)
	return b, b.A10.Err
}

// BlockBackward returns Δ at the block's input and the gradients of its parameters.
func BlockBackward[T Number](c GPT, p Parameters[T], i int, b Block[T], delta Matrix[T]) (dx Matrix[T], g Parameters[T], err error) {
	r := run[T]{GPT: c, p: p, g: Parameters[T]{}}
	dx = r.blockBackward(i, b, delta)
	return dx, r.g, r.err()
}

func (r *run[T]) block(i int, x Matrix[T]) Block[T] {
	switch {
	case r.Recurrent:
		return r.recurrent(i, x)
	case r.PostNorm:
		return r.postNorm(i, x)
	}
	return r.preNorm(i, x)
}

func (r *run[T]) blockBackward(i int, b Block[T], delta Matrix[T]) Matrix[T] {
	switch {
	case r.Recurrent:
		return r.recurrentBackward(i, b, delta)
	case r.PostNorm:
		return r.postNormBackward(i, b, delta)
	}
	return r.preNormBackward(i, b, delta)
}

// preNorm is the block of GPT-2, rows a₂ to a₁₀ of Table 2.
func (r *run[T]) preNorm(i int, x Matrix[T]) (b Block[T]) {
	h := fmt.Sprintf("h.%d.", i)
	b.A1 = x                                                                               //     (B·n, d)
	b.A2 = r.norm(h+"ln_1", b.A1)                                                          // a₂  (B·n, d)
	b.QKV = r.queries(i, b.A2)                                                             //     (B·n, H(2dρ+dh))
	b.A3 = r.attention(i, b.QKV)                                                           // a₃  (B·n, H·dh)
	b.A4 = DropoutForward(r.linear(h+"attn.c_proj", b.A3), r.drop(h+"attn.resid_dropout")) // a₄  (B·n, d)
	b.A5 = ResidualForward(b.A1, b.A4)                                                     // a₅  (B·n, d)
	b.A6 = r.norm(h+"ln_2", b.A5)                                                          // a₆  (B·n, d)
	b.A7 = r.linear(h+"mlp.c_fc", b.A6)                                                    // a₇  (B·n, f)
	b.A8 = ActivationForward(r.Activation, b.A7)                                           // a₈  (B·n, f)
	b.A9 = DropoutForward(r.linear(h+"mlp.c_proj", b.A8), r.drop(h+"mlp.dropout"))         // a₉  (B·n, d)
	b.A10 = ResidualForward(b.A5, b.A9)                                                    // a₁₀ (B·n, d)
	return b
}

// preNormBackward is the Δ column of Table 2 from Δ₁₀ up to Δ₁.
func (r *run[T]) preNormBackward(i int, b Block[T], d10 Matrix[T]) (d1 Matrix[T]) {
	h := fmt.Sprintf("h.%d.", i)
	d9 := r.at(h+"mlp.c_proj", DropoutBackward(r.drop(h+"mlp.dropout"), d10))        // Δ₁₀ dispatched
	d8 := r.at(h+"mlp.act", r.linearBackward(h+"mlp.c_proj", b.A8, d9))              // Δ₈ = Δ₁₀ w₈ᵗ
	d7 := r.at(h+"mlp.c_fc", ActivationBackward(r.Activation, b.A7, d8))             // Δ₇ = Δ₈ ∘ g'(a₇)
	d6 := r.at(h+"ln_2", r.linearBackward(h+"mlp.c_fc", b.A6, d7))                   // Δ₆ = Δ₇ w₆ᵗ
	d5 := r.at(h+"attn", ResidualBackward(d10, r.normBackward(h+"ln_2", b.A5, d6)))  // Δ₅ = Δ₁₀ + LNᵇ(Δ₆)
	d4 := r.at(h+"attn.c_proj", DropoutBackward(r.drop(h+"attn.resid_dropout"), d5)) // Δ₅ dispatched
	d3 := r.at(h+"attn.heads", r.linearBackward(h+"attn.c_proj", b.A3, d4))          // Δ₃ = Δ₅ w₃ᵗ
	dqkv := r.at(h+"attn.c_attn", r.attentionBackward(i, b.QKV, d3))                 // [Δ_raw k, Δ_rawᵗ q, ρᵗ Δ₃]
	d2 := r.at(h+"ln_1", r.queriesBackward(i, b.A2, dqkv))                           // Δ₂ = Σ_h (…)
	return ResidualBackward(d5, r.normBackward(h+"ln_1", b.A1, d2))                  // Δ₁ = Δ₅ + LNᵇ(Δ₂)
}

// postNorm is the block of Vaswani et al. (2017): a₅ = LN(a₁ + attention(a₁)),
// a₁₀ = LN(a₅ + MLP(a₅)).
func (r *run[T]) postNorm(i int, x Matrix[T]) (b Block[T]) {
	h := fmt.Sprintf("h.%d.", i)
	b.A1 = x                                                                               //     (B·n, d)
	b.QKV = r.queries(i, b.A1)                                                             //     (B·n, H(2dρ+dh))
	b.A3 = r.attention(i, b.QKV)                                                           // a₃  (B·n, H·dh)
	b.A4 = DropoutForward(r.linear(h+"attn.c_proj", b.A3), r.drop(h+"attn.resid_dropout")) // a₄  (B·n, d)
	b.S1 = ResidualForward(b.A1, b.A4)                                                     //     (B·n, d)
	b.A5 = r.norm(h+"ln_1", b.S1)                                                          // a₅  (B·n, d)
	b.A7 = r.linear(h+"mlp.c_fc", b.A5)                                                    // a₇  (B·n, f)
	b.A8 = ActivationForward(r.Activation, b.A7)                                           // a₈  (B·n, f)
	b.A9 = DropoutForward(r.linear(h+"mlp.c_proj", b.A8), r.drop(h+"mlp.dropout"))         // a₉  (B·n, d)
	b.S2 = ResidualForward(b.A5, b.A9)                                                     //     (B·n, d)
	b.A10 = r.norm(h+"ln_2", b.S2)                                                         // a₁₀ (B·n, d)
	return b
}

// postNormBackward differs in that what goes around a sublayer has already been
// through the LayerNorm.
func (r *run[T]) postNormBackward(i int, b Block[T], d10 Matrix[T]) (d1 Matrix[T]) {
	h := fmt.Sprintf("h.%d.", i)
	s2 := r.at(h+"ln_2", r.normBackward(h+"ln_2", b.S2, d10))                            // LNᵇ(Δ₁₀)
	d9 := r.at(h+"mlp.c_proj", DropoutBackward(r.drop(h+"mlp.dropout"), s2))             // dispatched
	d8 := r.at(h+"mlp.act", r.linearBackward(h+"mlp.c_proj", b.A8, d9))                  // Δ₈
	d7 := r.at(h+"mlp.c_fc", ActivationBackward(r.Activation, b.A7, d8))                 // Δ₇
	d5 := r.at(h+"attn", ResidualBackward(s2, r.linearBackward(h+"mlp.c_fc", b.A5, d7))) // Δ₅
	s1 := r.at(h+"ln_1", r.normBackward(h+"ln_1", b.S1, d5))                             // LNᵇ(Δ₅)
	d4 := r.at(h+"attn.c_proj", DropoutBackward(r.drop(h+"attn.resid_dropout"), s1))     // dispatched
	d3 := r.at(h+"attn.heads", r.linearBackward(h+"attn.c_proj", b.A3, d4))              // Δ₃
	dqkv := r.at(h+"attn.c_attn", r.attentionBackward(i, b.QKV, d3))                     //
	return ResidualBackward(s1, r.queriesBackward(i, b.A1, dqkv))                        // Δ₁
}

// ResidualForward adds a sublayer's output to what it was computed from.
//
//	y = x + s                                   rows a₅, a₁₀ of Table 2
func ResidualForward[T Number](x, s Matrix[T]) Matrix[T] { return x.Add(s) }

// ResidualBackward adds the Δ that came around the sublayer (delta) to the Δ that
// came through it.
//
//	Δx = Δ + Δ_through                          rows Δ₅, Δ₁ of Table 2
func ResidualBackward[T Number](delta, through Matrix[T]) Matrix[T] { return delta.Add(through) }
