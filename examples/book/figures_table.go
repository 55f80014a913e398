package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// tiny is the model of the chapter on Table 2: GPT-2 with one block, 8 features and 6 letters.
type tiny struct {
	ids, targets             []int
	tokens, places           values64
	norm1, norm2, norm3      hand.LayerNorm[float64]
	packed, proj, fc, out, y hand.Linear[float64]
}

const tinyEmbd, tinyHeads, tinyVocab = 8, 2, 6

func newTiny() *tiny {
	random := rand.New(rand.NewPCG(7, 7))
	draw := func(rows, cols int, size float64) values64 {
		m := hand.Zeros[float64](rows, cols)
		for i := range m.Data {
			m.Data[i] = size * random.NormFloat64()
		}
		return m
	}
	linear := func(in, out int, size float64) hand.Linear[float64] {
		return hand.Linear[float64]{Weight: draw(in, out, size), Bias: hand.Zeros[float64](1, out)}
	}
	norm := func() hand.LayerNorm[float64] {
		return hand.LayerNorm[float64]{
			Weight: hand.Zeros[float64](1, tinyEmbd).Shift(1), Bias: hand.Zeros[float64](1, tinyEmbd), Eps: 1e-5,
		}
	}
	const d = tinyEmbd
	return &tiny{
		ids: []int{0, 1, 2, 0, 1}, targets: []int{1, 2, 0, 1, 2},
		tokens: draw(tinyVocab, d, 0.2), places: draw(5, d, 0.2), norm1: norm(), norm2: norm(), norm3: norm(),
		packed: linear(d, 3*d, 0.2), proj: linear(d, d, 0.14), fc: linear(d, 4*d, 0.2), out: linear(4*d, d, 0.14),
		y: linear(d, tinyVocab, 0.2),
	}
}

// parameters returns the tensors of the model by name.
func (t *tiny) parameters() map[string]values64 {
	return map[string]values64{
		"w_tok": t.tokens, "w_pos": t.places, "w₁": t.norm1.Weight, "b₁": t.norm1.Bias, "w_qkv": t.packed.Weight,
		"b_qkv": t.packed.Bias, "w₃": t.proj.Weight, "b₃": t.proj.Bias, "w₅": t.norm2.Weight, "b₅": t.norm2.Bias,
		"w₆": t.fc.Weight, "b₆": t.fc.Bias, "w₈": t.out.Weight, "b₈": t.out.Bias, "w₁₀": t.norm3.Weight,
		"b₁₀": t.norm3.Bias, "w₁₁": t.y.Weight, "b₁₁": t.y.Bias,
	}
}

func (t *tiny) heads() hand.Heads[float64] {
	return hand.Heads[float64]{Batch: 1, Count: tinyHeads, Head: func(int, int) hand.Head[float64] {
		return hand.Attention[float64]{Mask: hand.CausalMask(len(t.ids))}
	}}
}

// pass is a forward pass: a holds a₁ to a₁₂ by index.
type pass struct {
	a       [13]values64
	q, k, v values64
	loss    values64
}

func (t *tiny) forward() (p pass) {
	const d = tinyEmbd
	a := &p.a
	a[1] = hand.Embedding[float64]{Weight: t.tokens}.Forward(t.ids).Add(t.places)
	a[2] = t.norm1.Forward(a[1])
	qkv := t.packed.Forward(a[2])
	p.q, p.k, p.v = qkv.Columns(0, d), qkv.Columns(d, 2*d), qkv.Columns(2*d, 3*d)
	a[3] = t.heads().Forward(p.q, p.k, p.v)
	a[4] = t.proj.Forward(a[3])
	a[5] = a[1].Add(a[4])
	a[6] = t.norm2.Forward(a[5])
	a[7] = t.fc.Forward(a[6])
	a[8] = hand.GELU[float64]{}.Forward(a[7])
	a[9] = t.out.Forward(a[8])
	a[10] = a[5].Add(a[9])
	a[11] = t.norm3.Forward(a[10])
	a[12] = t.y.Forward(a[11])
	p.loss = hand.CrossEntropy[float64]{Targets: t.targets}.Forward(a[12])
	return p
}

// backward returns Δ₁ to Δ₁₂ and the gradients of the parameters by name.
func (t *tiny) backward(p pass) (delta [13]values64, g map[string]values64) {
	g = map[string]values64{}
	through := func(l hand.Layer[float64], x, d values64, index string) values64 {
		dx, grads := l.Backward(x, d)
		for _, one := range grads {
			g[one.Name[:1]+index] = one.Value // weight and bias
		}
		return dx
	}
	delta[12] = through(hand.CrossEntropy[float64]{Targets: t.targets}, p.a[12], hand.NewMatrix(1, 1, 1.0), "")
	delta[11] = through(t.y, p.a[11], delta[12], "₁₁")
	delta[10] = through(t.norm3, p.a[10], delta[11], "₁₀")
	delta[9] = delta[10]
	delta[8] = through(t.out, p.a[8], delta[9], "₈")
	delta[7] = through(hand.GELU[float64]{}, p.a[7], delta[8], "")
	delta[6] = through(t.fc, p.a[6], delta[7], "₆")
	delta[5] = delta[10].Add(through(t.norm2, p.a[5], delta[6], "₅"))
	delta[4] = delta[5]
	delta[3] = through(t.proj, p.a[3], delta[4], "₃")
	dq, dk, dv := t.heads().Backward(p.q, p.k, p.v, delta[3])
	delta[2] = through(t.packed, p.a[2], hand.Join(dq, dk, dv), "_qkv")
	delta[1] = delta[5].Add(through(t.norm1, p.a[1], delta[2], "₁"))
	g["w_tok"] = hand.Embedding[float64]{Weight: t.tokens}.Backward(t.ids, delta[1])[0].Value
	g["w_pos"] = delta[1]
	return delta, g
}

// tinyRow is a row of both tables.
type tinyRow struct {
	index                   int
	star                    bool
	name, forward, backward string
	gradients               string // what the way up leaves there
}

func tinyRows() []tinyRow {
	return []tinyRow{
		{1, false, "token and position", "a_1 = X·w_tok + P·w_pos", "Δ1 = Δ5 + norm(Δ2)", "w_tok: Xᵗ·Δ1"},
		{2, true, "layer norm", "a_2 = norm(a_1)", "Δ2 = [Δq, Δk, Δv]·w_qkvᵗ", "w₁, b₁"},
		{3, true, "attention, 2 heads", "a_3 = softmax(q·kᵗ/√e)·v", "Δ3 = Δ4·w_3ᵗ", "w_qkv: a_2ᵗ·[Δq, Δk, Δv]"},
		{4, true, "linear", "a_4 = a_3·w_3 + b_3", "Δ4 = Δ5", "w₃: a_3ᵗ·Δ4"},
		{5, true, "add", "a_5 = a_1 + a_4", "Δ5 = Δ10 + norm(Δ6)", ""},
		{6, true, "layer norm", "a_6 = norm(a_5)", "Δ6 = Δ7·w_6ᵗ", "w₅, b₅"},
		{7, true, "linear, 4 times as wide", "a_7 = a_6·w_6 + b_6", "Δ7 = Δ8 ∘ slope of GELU", "w₆: a_6ᵗ·Δ7"},
		{8, true, "GELU", "a_8 = gelu(a_7)", "Δ8 = Δ9·w_8ᵗ", ""},
		{9, true, "linear", "a_9 = a_8·w_8 + b_8", "Δ9 = Δ10", "w₈: a_8ᵗ·Δ9"},
		{10, true, "add", "a_10 = a_5 + a_9", "Δ10 = norm(Δ11)", ""},
		{11, false, "layer norm", "a_11 = norm(a_10)", "Δ11 = Δ12·w_11ᵗ", "w₁₀, b₁₀"},
		{12, false, "linear: the logits", "a_12 = a_11·w_11 + b_11", "Δ12 = (p − Y)/n", "w₁₁: a_11ᵗ·Δ12"},
	}
}

func shapeOf(m values64) string { return fmt.Sprintf("(%d, %d)", m.Rows, m.Cols) }

func figureTableDown() (string, error) {
	p := newTiny().forward()
	rows := [][]string{{"", "layer", "formula", "shape", "size"}}
	for _, r := range tinyRows() {
		star := ""
		if r.star {
			star = "★"
		}
		m := p.a[r.index]
		rows = append(rows, []string{star, r.name, indexed(r.forward), shapeOf(m), fmt.Sprintf("%.3f", size(m))})
	}
	return table(append(rows, []string{"", "the loss", "−mean ln p of the next letter", "(1, 1)",
		fmt.Sprintf("%.3f", p.loss.Data[0])})...), p.loss.Err
}

func figureTableUp() (string, error) {
	t := newTiny()
	delta, g := t.backward(t.forward())
	rows := [][]string{{"", "layer", "formula", "size", "gradients of parameters"}}
	list := tinyRows()
	for i := len(list) - 1; i >= 0; i-- {
		r, star := list[i], ""
		if r.star {
			star = "★"
		}
		rows = append(rows, []string{star, r.name, indexed(r.backward), fmt.Sprintf("%.5f", size(delta[r.index])),
			indexed(r.gradients)})
	}
	return table(rows...), g["w_tok"].Err
}

// indexed writes the numbers after a_, w_, b_ and Δ below the line.
func indexed(s string) string {
	var out []rune
	below := false
	for i, r := range s {
		switch {
		case r == 'Δ' || r == '_' && i+1 < len(s) && '0' <= s[i+1] && s[i+1] <= '9':
			below = true
			if r == 'Δ' {
				out = append(out, r)
			}
			continue
		case below && '0' <= r && r <= '9':
			out = append(out, '₀'+r-'0')
			continue
		}
		below = false
		out = append(out, r)
	}
	return string(out)
}

// figureTableCheck compares five gradients with differences of the loss.
func figureTableCheck() (string, error) {
	t := newTiny()
	_, g := t.backward(t.forward())
	rows := [][]string{{"parameter", "entry", "gradient by hand", "difference of two losses"}}
	all := t.parameters()
	for _, c := range []struct {
		name string
		at   int
	}{{"w_tok", 3}, {"w_qkv", 20}, {"w₃", 7}, {"w₈", 100}, {"w₁₀", 2}} {
		const h = 1e-5
		m := all[c.name]
		before := m.Data[c.at]
		m.Data[c.at] = before + h
		up := t.forward().loss.Data[0]
		m.Data[c.at] = before - h
		down := t.forward().loss.Data[0]
		m.Data[c.at] = before
		want := g[c.name].Data[c.at]
		if got := (up - down) / (2 * h); math.Abs(got-want) > 1e-8 {
			return "", fmt.Errorf("%s: the gradient is %v and the difference %v", c.name, want, got)
		} else {
			rows = append(rows, []string{c.name, fmt.Sprintf("(%d, %d)", c.at/m.Cols+1, c.at%m.Cols+1),
				signed(want, 10), signed(got, 10)})
		}
	}
	return table(rows...), nil
}

func numberTinyParameters() (string, error) {
	n := 0
	for _, m := range newTiny().parameters() {
		n += len(m.Data)
	}
	return program.Thousands(n), nil
}

func numberTinyUniform() (string, error) { return fmt.Sprintf("%.3f", math.Log(tinyVocab)), nil }

// The sizes of GPT-2.
const gpt2Embd, gpt2Blocks, gpt2Context, gpt2Vocab = 768, 12, 1024, 50257

func gpt2Block() int { return 12*gpt2Embd*gpt2Embd + 13*gpt2Embd }

func numberGPT2Block() (string, error) { return program.Thousands(gpt2Block()), nil }

// gpt2All returns the parameters of GPT-2 with a separate last layer.
func gpt2All() int {
	return (gpt2Vocab+gpt2Context)*gpt2Embd + gpt2Blocks*gpt2Block() + 2*gpt2Embd + gpt2Embd*gpt2Vocab + gpt2Vocab
}

func numberGPT2Parameters() (string, error) { return program.Thousands(gpt2All()), nil }

func numberGPT2Tied() (string, error) {
	return program.Thousands(gpt2All() - gpt2Embd*gpt2Vocab - gpt2Vocab), nil
}
