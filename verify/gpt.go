package verify

import "fmt"

// GPT describes a model apart from its parameters, whose shapes say the rest.
type GPT struct {
	Batch, Context    int // B sequences of n tokens
	Layers, Heads, QK int // L, H, dρ

	Eps        float64 // ε of every LayerNorm
	Activation Activation
	PostNorm   bool // blocks as in 2017: LayerNorm after each sum, none at the end
	Recurrent  bool // blocks are an Elman network; there is neither attention nor a norm
	Position   Position
	Theta      float64 // base of rotary positions
	Norm       Norm
	Mixing     Mixing
	Tied       bool      // lm_head.weight is wte.weight transposed
	LoRAScale  float64   // α/r, or α
	Reduction  Reduction // of the loss

	// Mask returns the additive (n, n) mask of a head, for a sequence in a block; nil is causal.
	Mask func(block, sequence, head int) Matrix[float64]
	// Windows returns the two masks of a head of LongformerMixing.
	Windows func(head int) LongformerMask
	// Dropout returns the mask (0 or 1/(1−p)) of a site, or the zero Matrix; nil is
	// no dropout. Sites and shapes: drop (B·n, d), h.i.attn.attn_dropout
	// (B·H·n, n), h.i.attn.resid_dropout (B·n, d), h.i.mlp.dropout (B·n, d).
	Dropout func(site string) Matrix[float64]
}

// Activations are the a of Table 2.
type Activations[T Number] struct {
	A1     Matrix[T] // tokens + positions
	Blocks []Block[T]
	A11    Matrix[T] // input of the head
	Logits Matrix[T] // a₁₂
	Loss   Matrix[T] // (1, 1)
}

// Delta is ∂L/∂a at the output of the named part of the model.
type Delta[T Number] struct {
	Name  string
	Value Matrix[T]
}

// Gradients are the answers of GPTBackward.
type Gradients[T Number] struct {
	Parameters Parameters[T] // one for each parameter, the adapters' frozen neighbours included
	Deltas     []Delta[T]    // from the loss downwards
}

// GPTForward is Table 2 read downwards, with L blocks and B sequences.
func GPTForward[T Number](c GPT, p Parameters[T], tokens, targets []int) (Activations[T], error) {
	r := run[T]{GPT: c, p: p.withHead(c.Tied)}
	if err := r.p.check(c, tokens); err != nil {
		return Activations[T]{}, err
	}
	var a Activations[T]
	tok := r.embedding("wte", tokens)                   // a₁ tok     (B·n, d)
	a.A1 = DropoutForward(r.place(tok), r.drop("drop")) // a₁ + pos   (B·n, d)
	x := a.A1
	for i := range c.Layers {
		a.Blocks = append(a.Blocks, r.block(i, x)) //           a₂…a₁₀     (B·n, d)
		x = a.Blocks[i].A10
	}
	a.A11 = r.final(x)                                           // a₁₁        (B·n, d)
	a.Logits = r.linear("lm_head", a.A11)                        // a₁₂        (B·n, V)
	a.Loss = CrossEntropyForward(a.Logits, targets, c.Reduction) //            (1, 1)
	return a, a.Loss.Err
}

// GPTBackward is Table 3 read upwards: each line takes a Δ one row of Table 2 up
// and leaves the gradients of that row's parameters behind.
func GPTBackward[T Number](c GPT, p Parameters[T], tokens, targets []int, a Activations[T]) (Gradients[T], error) {
	r := run[T]{GPT: c, p: p.withHead(c.Tied), g: Parameters[T]{}}
	d12 := r.at("lm_head", CrossEntropyBackward(a.Logits, targets, c.Reduction)) // Δ₁₂ = y_pred − y_gt
	d11 := r.at("ln_f", r.linearBackward("lm_head", a.A11, d12))                 // Δ₁₁ = Δ₁₂ w₁₁ᵗ
	d10 := r.finalBackward(a, d11)                                               // Δ₁₀
	for i := len(a.Blocks) - 1; i >= 0; i-- {
		d10 = r.blockBackward(i, a.Blocks[i], r.at(fmt.Sprintf("h.%d", i), d10)) // Δ₉…Δ₁
	}
	d1 := DropoutBackward(r.drop("drop"), r.at("drop", d10))
	r.embeddingBackward("wte", tokens, r.placeBackward(d1)) // ohe(a₀)ᵗ Δ₁
	if c.Tied {
		r.g["wte.weight"] = r.g["wte.weight"].Add(r.g["lm_head.weight"].Transpose()) // + (a₁₁ᵗ Δ₁₂)ᵗ
		delete(r.g, "lm_head.weight")
	}
	return Gradients[T]{r.g, r.deltas}, r.err()
}

// final is the LayerNorm after the last block, which post-norm blocks do without.
func (r *run[T]) final(x Matrix[T]) Matrix[T] {
	if r.PostNorm || r.Recurrent {
		return x
	}
	return r.norm("ln_f", x)
}

func (r *run[T]) finalBackward(a Activations[T], delta Matrix[T]) Matrix[T] {
	if r.PostNorm || r.Recurrent {
		return delta
	}
	last := a.A1
	if n := len(a.Blocks); n > 0 {
		last = a.Blocks[n-1].A10
	}
	return r.normBackward("ln_f", last, delta) // Δ₁₀ = LNᵇ(Δ₁₁)
}
