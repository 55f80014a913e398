package hand

import (
	"fmt"
	"slices"
	"strings"
)

// Stack is one side of a model: the embeddings, the blocks, and the norm at their end.
type Stack[T Number] struct {
	Embeddings Embeddings[T]
	Blocks     []Layer[T]
	Future     []Layer[T] // blocks beside the last one, for multi-token prediction; they have its input
	Skips      []Skip[T]  // of every block, the zero Skip for none; nil without any
	Norm       Layer[T]   // nil for post-norm blocks
}

// Forward computes Table 2 from the tokens to the input of the head. The rows of each block in Future are below those
// of the blocks before.
func (s Stack[T]) Forward(tokens []int) Matrix[T] {
	x := s.heads(s.stream(tokens))
	if s.Norm != nil {
		x = forward("ln_f", s.Norm, x) // a₁₁      (B·n, d)
	}
	return x
}

// stream returns a₁ with the result of every block, and the input of every block: the result before it, unless a skip
// mixes it with an earlier one.
func (s Stack[T]) stream(tokens []int) (stream, inputs []Matrix[T]) {
	stream = []Matrix[T]{s.Embeddings.Forward(tokens)} // a₁       (B·n, d)
	for i, block := range s.Blocks {                   // a₂ … a₁₀ (B·n, d)
		x := stream[i]
		switch l := s.skip(i); {
		case l.Lambda.None():
		case l.From < 0 || l.From > i:
			x = failed[T]("block %d: a skip from %d, want 0 to %d", i, l.From, i)
		default:
			x = within(blockName(i), x, l.Forward(x, stream[l.From]))
		}
		inputs, stream = append(inputs, x), append(stream, forward(blockName(i), block, x))
	}
	return stream, inputs
}

// heads returns the result of the last block, and below it those of the blocks in Future.
func (s Stack[T]) heads(stream, inputs []Matrix[T]) Matrix[T] {
	last := len(s.Blocks)
	if len(s.Future) == 0 {
		return stream[last]
	}
	if last == 0 {
		return failed[T]("%d blocks beside the last one of 0", len(s.Future))
	}
	results := []Matrix[T]{stream[last]}
	for i, block := range s.Future {
		results = append(results, forward(blockName(last+i), block, inputs[last-1]))
	}
	return JoinTokens(results...)
}

// futureBackward returns Δ at the result of the last block, and Δ from the blocks in Future at its input.
func (s Stack[T]) futureBackward(inputs []Matrix[T], d10 Matrix[T], equation string) (
	last, input Matrix[T], g Gradients[T],
) {
	if len(s.Future) == 0 || len(inputs) == 0 {
		return d10, input, nil
	}
	n := d10.Rows / (1 + len(s.Future))
	for i, block := range s.Future {
		out := d10.Tokens((i+1)*n, (i+2)*n)
		name := blockName(len(s.Blocks) + i)
		dx, own := backward(name, block, inputs[len(inputs)-1], out)
		own, _ = own.take(inputOf)
		input = sumOf(input, dx)
		g = slices.Concat(g, own.In(name, ""), deltaAt(name, equation, out))
	}
	return d10.Tokens(0, n), input, g
}

// skip returns the skip before block i, or the zero Skip.
func (s Stack[T]) skip(i int) (l Skip[T]) {
	if i < len(s.Skips) {
		return s.Skips[i]
	}
	return l
}

// Backward computes Table 3 from the input of the head, where Δ is Δ₁₁, back to the tokens.
func (s Stack[T]) Backward(tokens []int, d11 Matrix[T]) (g Gradients[T]) {
	stream, inputs := s.stream(tokens)
	skipped := make([]Matrix[T], len(stream)) // Δ that skips have left at places of the stream
	d10, last := d11, "Δ₁₂ w₁₁ᵗ"
	if s.Norm != nil {
		var norm Gradients[T]
		d10, norm = s.Norm.Backward(s.heads(stream, inputs), d11) // Δ₁₀ = LNᵇ(Δ₁₁)
		d11 = d11.Tokens(0, len(tokens))                          // of the last block
		g, last = append(norm.In("ln_f", "₁₀"), deltaAt("ln_f", "Δ₁₁ = Δ₁₂ w₁₁ᵗ", d11)...), "LNᵇ(Δ₁₁) (40)"
	}
	equation := "Δ₁₀ = " + last
	d10, beside, future := s.futureBackward(inputs, d10, equation)
	g = append(future, g...)
	for i, block := range slices.Backward(s.Blocks) {
		out := deltaAt(blockName(i), equation, d10)
		var own Gradients[T]
		d10, own = backward(blockName(i), block, inputs[i], d10) // Δ₉…Δ₁
		own, input := own.take(inputOf)
		if i == len(s.Blocks)-1 && !beside.None() {
			d10 = d10.Add(beside)
		}
		if l := s.skip(i); !l.Lambda.None() && inputs[i].Err == nil {
			var de Matrix[T]
			var factors Gradients[T]
			d10, de, factors = l.Backward(stream[i], stream[l.From], d10)
			skipped[l.From], own = sumOf(skipped[l.From], de), append(own, factors...)
		}
		equation = "Δ₁₀, which is Δ₁ of the next block, "
		for _, e := range input {
			equation += e.Equation
		}
		if !skipped[i].None() {
			d10 = d10.Add(skipped[i])
		}
		if len(s.Skips) > 0 {
			equation += ", times λ₁, and λ₂ Δ of the skips from here"
		}
		g = slices.Concat(own.In(blockName(i), ""), out, g)
	}
	if len(s.Blocks) > 0 {
		equation = "Δ₁ = " + equation[len("Δ₁₀, which is Δ₁ of the next block, "):]
	}
	return slices.Concat(s.Embeddings.Backward(tokens, d10), deltaAt("drop", equation, d10), g) // Δ₁
}

// sumOf returns a + b, or b if there is no a.
func sumOf[T Number](a, b Matrix[T]) Matrix[T] {
	if a.None() {
		return b
	}
	return a.Add(b)
}

func blockName(i int) string { return fmt.Sprintf("h.%d", i) }

// Model is a stack with a head that scores words. It is a decoder alone or, with an Encoder, a decoder whose blocks
// also attend to the encoder's output z (Conti chapter 1, CS 224n section 3.7). Its parameters have GPT-2's names; with
// an encoder, the names of each side begin with "encoder." or "decoder.".
type Model[T Number] struct {
	Encoder *Stack[T]                    // nil for a decoder alone
	Decoder func(z Matrix[T]) Stack[T]   // z is empty without an encoder
	Head    Layer[T]                     // (d, V)
	Cap     Layer[T]                     // of the logits, nil for none
	Loss    func(targets []int) Layer[T] // of logits (B·n, V)
	Balance *Balances[T]                 // added to the loss; nil for none
}

// Text is the input of a model and its targets.
type Text struct {
	Source  []int // of the encoder, (B·m)
	Tokens  []int // (B·n)
	Targets []int // (B·n)
}

func (m Model[T]) memory(t Text) (z Matrix[T]) {
	if m.Encoder != nil {
		z = within("encoder", z, m.Encoder.Forward(t.Source)) // (B·m, d)
	}
	return z
}

// Logits computes Table 2 read downwards.
func (m Model[T]) Logits(t Text) Matrix[T] { return m.first(t, m.predictions(t)) }

// first returns the rows of x that belong to the next token, without those of a stack's Future.
func (m Model[T]) first(t Text, x Matrix[T]) Matrix[T] {
	if n := len(t.Tokens); x.Err == nil && n < x.Rows {
		return x.Tokens(0, n)
	}
	return x
}

// predictions returns the logits of all heads.
func (m Model[T]) predictions(t Text) Matrix[T] {
	z := m.memory(t)
	a11 := m.decoder(z).Forward(t.Tokens) // a₁…a₁₁  (B·n, d)
	if m.Encoder != nil {
		a11 = within("decoder", z, a11)
	}
	a12 := forward("lm_head", m.Head, a11) // a₁₂      (B·n, V)
	if m.Cap == nil {
		return a12
	}
	return forward("logit_cap", m.Cap, a12)
}

// Forward returns the loss, (1, 1).
func (m Model[T]) Forward(t Text) Matrix[T] {
	m.Balance.forget() // the blocks of other passes
	return m.Balance.to(forward("loss", m.loss(t), m.predictions(t)))
}

// Backward computes Table 3 read upwards: each line carries Δ up one row of Table 2 and adds the gradients of that
// row's parameters. Every block of a decoder with an encoder attends to z, so Δ at z is the sum of their shares.
func (m Model[T]) Backward(t Text) (g Gradients[T], err error) {
	decoder := m.decoder(m.memory(t))
	a11 := decoder.Forward(t.Tokens)
	a12 := forward("lm_head", m.Head, a11)
	d12, capped := m.lossBackward(t, a12)
	d11, head := backward("lm_head", m.Head, a11, d12) // Δ₁₁ = Δ₁₂ w₁₁ᵗ
	g = decoder.Backward(t.Tokens, d11)                // Δ₁₀…Δ₁
	g = slices.Concat(g, head.by("a₁₁ᵗΔ₁₂", "ΣΔ₁₂").In("lm_head", "₁₁"), capped)
	if m.Encoder != nil {
		var back Gradients[T]
		g, back = g.take(MemoryDelta)
		dz := Zeros[T](len(t.Source), d11.Cols)
		for _, e := range slices.Backward(back) {
			dz = dz.Add(e.Value) // Σ over the blocks
		}
		encoder := m.Encoder.Backward(t.Source, dz).In("encoder", "")
		g = slices.Concat(encoder, deltaAt("z", "Δz = Σ Δz of the blocks", dz), g.In("decoder", ""))
	}
	for i := range g {
		g[i].Name = strings.TrimPrefix(g[i].Name, "/")
	}
	return g, g.Err()
}

// lossBackward returns Δ₁₂ at the output of the head, a₁₂, and the Δ from there to the loss.
func (m Model[T]) lossBackward(t Text, a12 Matrix[T]) (d12 Matrix[T], g Gradients[T]) {
	const equation = "y_pred − y_gt"
	one := Zeros[T](1, 1).Shift(1)
	if m.Cap == nil {
		d12, _ = backward("loss", m.loss(t), a12, one) // Δ₁₂ = y_pred − y_gt
		return d12, deltaAt("lm_head", "Δ₁₂ = "+equation, m.first(t, d12))
	}
	d13, _ := backward("loss", m.loss(t), forward("logit_cap", m.Cap, a12), one)
	d12, _ = backward("logit_cap", m.Cap, a12, d13) // Δ₁₂ = (y_pred − y_gt) ∘ (1 − t²)
	g = deltaAt("lm_head", "Δ₁₂ = ("+equation+") ∘ (1 − tanh²)", m.first(t, d12))
	return d12, append(g, deltaAt("logit_cap", equation, m.first(t, d13))...)
}
