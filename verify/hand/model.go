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
	Stream     Stream[T]
	Norm       Layer[T] // nil for post-norm blocks
}

// Forward computes Table 2 from the tokens to the input of the head. The rows of each block in Future are below those
// of the blocks before.
func (s Stack[T]) Forward(tokens []int) Matrix[T] {
	return s.chain().Forward(s.Embeddings.Forward(tokens))
}

// chain returns the links from the embeddings a₁ to the result of the last norm, a₁₁.
func (s Stack[T]) chain() Chain[T] {
	c := slices.Concat(Chain[T]{place[T]{"x", "drop", ""}}, s.Stream.Expand)
	for i, block := range s.Blocks { // a₂ … a₁₀ (B·n, d)
		c = append(c, s.Stream.skip(i)...)
		if i == len(s.Blocks)-1 {
			c = append(c, Keep[T]("x", "input"))
		}
		c = append(c, s.block(i, block, "x", "x"))
	}
	heads := []string{"x"}
	for i, block := range s.Future {
		i += len(s.Blocks)
		heads = append(heads, blockName(i))
		c = append(c, s.block(i, block, "input", blockName(i)))
	}
	c = append(c, below[T](heads))
	c = append(c, s.Stream.Reduce...)
	if s.Norm == nil {
		return append(c, Keep[T]("x", "y"))
	}
	return append(c, Apply[T]{
		Name: "ln_f", From: "x", To: "y", Layer: s.Norm, Index: "₁₀", Delta: "Δ₁₁ = Δ₁₂ w₁₁ᵗ", // a₁₁
	})
}

// block returns the link of block i.
func (s Stack[T]) block(i int, block Layer[T], from, to string) Link[T] {
	return Apply[T]{Name: blockName(i), From: from, To: to, Layer: block, Delta: "Δ₁₀"}
}

// below is the link that writes the rows of the named values below one another into x.
type below[T Number] []string

// Forward returns the rows.
func (l below[T]) Forward(v Values[T]) (written Values[T]) {
	var parts []Matrix[T]
	for _, name := range l {
		parts = append(parts, v.at(name))
	}
	return Values[T]{"x": JoinTokens(parts...)}
}

// Backward returns the rows of Δ at each value.
func (l below[T]) Backward(_, delta Values[T]) (read Values[T], g Gradients[T]) {
	read = Values[T]{}
	n := delta["x"].Rows / len(l)
	for i, name := range l {
		read[name] = delta["x"].Tokens(i*n, (i+1)*n)
	}
	return read, nil
}

// Backward computes Table 3 from the input of the head, where Δ is Δ₁₁, back to the tokens.
func (s Stack[T]) Backward(tokens []int, d11 Matrix[T]) (g Gradients[T]) {
	a1 := s.Embeddings.Forward(tokens)
	d1, g := s.chain().Backward(a1, d11) // Δ₁₀ … Δ₁
	return slices.Concat(s.Embeddings.Backward(tokens, d1), s.equations(g, len(tokens)))
}

// equations sets the equation of Δ at each end of a block, which is Δ at the input of the next block. Of Δ₁₁ it leaves
// the rows of the n tokens of the last block.
func (s Stack[T]) equations(g Gradients[T], n int) (out Gradients[T]) {
	inputs := map[string]string{} // equations of Δ at the inputs of blocks
	for _, e := range g {
		name, ok := strings.CutSuffix(e.Name, "."+inputOf)
		switch {
		case ok && e.Delta && inputs[name] != "":
			inputs[name] = e.Equation + ", " + inputs[name]
		case ok && e.Delta:
			inputs[name] = e.Equation
		default:
			out = append(out, e)
		}
	}
	last := "Δ₁₀ = Δ₁₂ w₁₁ᵗ"
	if s.Norm != nil {
		last = "Δ₁₀ = LNᵇ(Δ₁₁) (40)"
	}
	ends := map[string]string{}
	for i := range len(s.Blocks) + len(s.Future) {
		if ends[blockName(i)] = last; i+1 < len(s.Blocks) {
			ends[blockName(i)] = "Δ₁₀, which is Δ₁ of the next block, " + inputs[blockName(i+1)]
		}
	}
	if ends["drop"] = last; len(s.Blocks) > 0 {
		ends["drop"] = "Δ₁ = " + inputs[blockName(0)]
	}
	for i, e := range out {
		if equation, ok := ends[e.Name]; ok && e.Delta {
			out[i].Equation = equation
		}
		if e.Name == "ln_f" && e.Delta {
			out[i].Value = e.Value.Tokens(0, n)
		}
	}
	return out
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

// first returns the rows of x that belong to the next token, without the rows of a stack's Future.
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
