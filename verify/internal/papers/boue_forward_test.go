package papers

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// (1) The embeddings are a matrix with a row for each word of the vocabulary, or for each position of the context, and
// a column for each feature.
func TestBoueEq01(t *testing.T) {
	f := fixture.Generic()
	for name, rows := range map[string]int{"wte.weight": fixture.Vocabulary, "wpe.weight": fixture.Positions} {
		w := f.Parameters[name]
		if w.Rows != rows || w.Cols != fixture.Features {
			t.Errorf("%s: got (%d, %d), want (%d, %d)", name, w.Rows, w.Cols, rows, fixture.Features)
		}
		for i := range rows {
			near(t, name, embeddingForward(w, []int{i}), w.Tokens(i, i+1))
		}
	}
}

// (2) Looking up rows is a product with the one-hot matrix of the tokens, to the bit.
func TestBoueEq02(t *testing.T) {
	w, tokens := fixture.Random("w", 7, 4), []int{3, 0, 3, 6, 2}
	got, want := embeddingForward(w, tokens), oneHotRows(tokens, 7).MatMul(w)
	near(t, "rows", got, want)
	if !slices.Equal(got.Data, want.Data) {
		t.Errorf("got %v, want %v", got.Data, want.Data)
	}
}

// (3) The gradient of the embeddings is ohe(tokens)ᵗΔ: Δ is summed over the places where a word occurs, and a word that
// does not occur gets zero.
func TestBoueEq03(t *testing.T) {
	w, tokens, delta := fixture.Random("w", 7, 4), []int{3, 0, 3, 6, 2}, fixture.Random("delta", 5, 4)
	got := embeddingBackward(w, tokens, delta)
	near(t, "∂w", got, oneHotRows(tokens, 7).Transpose().MatMul(delta))
	near(t, "∂w of a word used twice", got.Tokens(3, 4), delta.Tokens(0, 1).Add(delta.Tokens(2, 3)))
	for _, absent := range []int{1, 4, 5} {
		if row := got.Tokens(absent, absent+1); frobenius(row) != 0 {
			t.Errorf("∂w of word %d, which does not occur: got %v, want 0", absent, row.Data)
		}
	}
}

// Section 1: Δ₁₂ = y_pred − y_gt. That is the gradient of the sum of the tokens' losses; their mean is smaller by
// exactly n (erratum B10: the paper does not state which of them L_seq is). The targets are the tokens shifted by one
// place, not their indices increased by one, and the last token has none.
func TestBoueLoss(t *testing.T) {
	tokens, targets := fixture.Shift([]int{4, 0, 2, 2, 6})
	if !slices.Equal(tokens, []int{4, 0, 2, 2}) || !slices.Equal(targets, []int{0, 2, 2, 6}) {
		t.Errorf("got %v and %v", tokens, targets)
	}
	logits := fixture.Random("logits", 4, 7).Scale(5)
	pred, gt := logits.Softmax(), oneHotRows(targets, 7)
	near(
		t, "loss", crossEntropyForward(logits, targets, hand.Sum),
		gt.Mul(pred.Log()).SumTokens().Sum().Scale(-1),
	)
	near(t, "Δ of the sum", crossEntropyBackward(logits, targets, hand.Sum), pred.Sub(gt))
	wrongBy(
		t, "Δ of the mean", crossEntropyBackward(logits, targets, hand.Sum),
		crossEntropyBackward(logits, targets, hand.Mean), 4-1,
	)
	near(
		t, "mean", crossEntropyForward(logits, targets, hand.Mean).Scale(4),
		crossEntropyForward(logits, targets, hand.Sum),
	)
	vanishes(t, "Σ_v Δ", crossEntropyBackward(logits, targets, hand.Sum).Sum())
	if p := pred.Sum().At(0, 0); !(math.Abs(p-1) <= 1e-15) {
		t.Errorf("probabilities of the first token sum to %v", p)
	}
}

// (4) The values are a linear layer of the input, token by token: no token sees another one.
func TestBoueEq04(t *testing.T) {
	a := newAttention()
	near(t, "v", a.v, a.x.MatMul(a.p.Wv).Add(ones(6, 1).MatMul(a.p.Bv)))
	for i := range 6 {
		near(t, "v of a token alone", linearForward(a.x.Tokens(i, i+1), a.p.Wv, a.p.Bv), a.v.Tokens(i, i+1))
	}
}

// (5.a–d) The output of token t is an average of the values of tokens 1 to t: the output of the first is its own value,
// ρ₁₁ = 1.
func TestBoueEq05(t *testing.T) {
	a := newAttention()
	out := attentionForward(a.q, a.k, a.v, a.mask, matrix{})
	near(t, "a(1) = v(1)", out.Tokens(0, 1), a.v.Tokens(0, 1))
	for i := range 6 {
		weights := a.rho.Tokens(i, i+1).Columns(0, i+1)
		near(t, "a(t)", out.Tokens(i, i+1), weights.MatMul(a.v.Tokens(0, i+1)))
		near(t, "Σ ρ", weights.Sum(), ones(1, 1))
	}
}

// (6) The averages together are ρv with a lower triangular ρ.
func TestBoueEq06(t *testing.T) {
	a := newAttention()
	near(t, "a", attentionForward(a.q, a.k, a.v, a.mask, matrix{}), a.rho.Mul(a.binary).MatMul(a.v))
	if upper := a.rho.Mul(a.binary.Scale(-1).Shift(1)); frobenius(upper) != 0 {
		t.Errorf("above the diagonal: got %v, want exact zeros", upper.Data)
	}
}

// (7) The raw weight of a pair is the query of one token times the key of the other, and is not symmetric; it is if
// queries and keys share their parameters.
func TestBoueEq07(t *testing.T) {
	a := newAttention()
	if got, want := a.raw.At(4, 1), dot(a.q.Tokens(4, 5), a.k.Tokens(1, 2)); !(math.Abs(got-want) <= 1e-14) {
		t.Errorf("ρ₅₂: got %v, want %v", got, want)
	}
	wrongBy(t, "ρ as if it were symmetric", a.raw.Transpose(), a.raw, 1.21)
	near(t, "ρ of queries with themselves", a.q.MatMul(a.q.Transpose()), a.q.MatMul(a.q.Transpose()).Transpose())
}

// (8) Queries and keys are each a row of dρ features per token, computed from that token alone.
func TestBoueEq08(t *testing.T) {
	a := newAttention()
	p := permutation(3, 1, 5, 0, 2, 4)
	for name, m := range map[string]struct{ out, w, b matrix }{"q": {a.q, a.p.Wq, a.p.Bq}, "k": {a.k, a.p.Wk, a.p.Bk}} {
		if m.out.Rows != 6 || m.out.Cols != fixture.QK {
			t.Errorf("%s: got (%d, %d), want (6, 3)", name, m.out.Rows, m.out.Cols)
		}
		near(t, name+" of shuffled tokens", linearForward(p.MatMul(a.x), m.w, m.b), p.MatMul(m.out))
	}
}

// (9.a–b) Queries and keys are linear layers of the input with their own biases.
func TestBoueEq09(t *testing.T) {
	a := newAttention()
	near(t, "q", a.q, a.x.MatMul(a.p.Wq).Add(ones(6, 1).MatMul(a.p.Bq)))
	near(t, "k", a.k, a.x.MatMul(a.p.Wk).Add(ones(6, 1).MatMul(a.p.Bk)))
}

// (10) All raw weights are q kᵗ, square in the tokens whatever dρ is.
func TestBoueEq10(t *testing.T) {
	a := newAttention()
	want := hand.Zeros[float64](6, 6)
	for i := range 6 {
		for j := range 6 {
			want.Data[i*6+j] = dot(a.q.Tokens(i, i+1), a.k.Tokens(j, j+1))
		}
	}
	near(t, "q kᵗ", a.raw, want)
}

// (11) Row t of the weights belongs to the query of token t: changing another query leaves it unchanged, and changing
// this query changes no other row.
func TestBoueEq11(t *testing.T) {
	a := newAttention()
	moved := a.q.Add(
		oneHotRows([]int{hand.Ignore, hand.Ignore, 1, hand.Ignore, hand.Ignore, hand.Ignore}, 3),
	).MatMul(a.k.Transpose())
	for i := range 6 {
		got, want := moved.Tokens(i, i+1), a.raw.Tokens(i, i+1)
		same := slices.Equal(got.Data, want.Data)
		if i != 2 {
			near(t, "the row of another query", got, want)
		}
		if same != (i != 2) {
			t.Errorf("row %d after changing query 2: same %v", i, same)
		}
	}
}

// (12) Dividing by √dρ takes the variance of q·k from dρ to 1 when the features of queries and keys are standard
// normal.
func TestBoueEq12(t *testing.T) {
	const n, features = 400, 64
	random := rand.New(rand.NewPCG(12, 0))
	q, k := hand.Zeros[float64](n, features), hand.Zeros[float64](n, features)
	for i := range q.Data {
		q.Data[i], k.Data[i] = random.NormFloat64(), random.NormFloat64()
	}
	raw := q.MatMul(k.Transpose())
	if variance := dot(raw, raw) / (n * n); !(math.Abs(variance-features) <= 0.05*features) {
		t.Errorf("variance of q·k: got %v, want about %d", variance, features)
	}
	scaled := raw.Scale(1 / math.Sqrt(features))
	if variance := dot(scaled, scaled) / (n * n); !(math.Abs(variance-1) <= 0.05) {
		t.Errorf("variance of q·k/√dρ: got %v, want about 1", variance)
	}
	a := newAttention()
	near(t, "ρ", attentionWeights(a.q, a.k, matrix{}), a.raw.Scale(1/math.Sqrt(3)).Softmax())
}

// (13) The mask removes the future from the scores. As printed it multiplies them by 0, which the softmax turns into
// e⁰, not into 0: erratum B1. (5) and Table 1 describe the additive mask.
func TestBoueEq13(t *testing.T) {
	a := newAttention()
	near(t, "ρ", attentionWeights(a.q, a.k, a.mask), a.causal.Softmax())
	printed := a.scaled.Mul(a.binary).Softmax()
	leak := dot(printed, a.binary.Scale(-1).Shift(1)) / 6
	if !(math.Abs(leak-0.402) <= 0.001) {
		t.Errorf("attention on the future as printed: got %.3f, want 0.402", leak)
	}
	if got := printed.At(0, 0); !(math.Abs(got-0.0935) <= 0.001) {
		t.Errorf("ρ₁₁ as printed: got %.4f, want 0.0935 where (5.a) says 1", got)
	}
	wrongBy(t, "ρ as printed", printed, a.rho, 0.726)
}

// (14) The weights of one token sum to 1 over the others. The sum is over the entries of row t*; the sum of the rows
// ρ(t'), a possible reading of the first expression, is not 1 (erratum B12).
func TestBoueEq14(t *testing.T) {
	a := newAttention()
	near(t, "Σ_t' ρ_t*t'", a.rho.Sum(), ones(6, 1))
	wrongBy(t, "Σ_t' ρ(t')", a.rho.SumTokens(), ones(1, 6), 0.667)
}

// (15) Each row of ρ is the softmax of that token's visible scores; hidden keys have exactly the weight 0.
func TestBoueEq15(t *testing.T) {
	a := newAttention()
	for i := range 6 {
		visible := a.scaled.Tokens(i, i+1).Columns(0, i+1).Softmax()
		near(t, "ρ(t)", a.rho.Tokens(i, i+1), hand.Join(visible, hand.Zeros[float64](1, 5-i)))
	}
}

// (16) The output is ρv; when every token attends to itself alone it is v.
func TestBoueEq16(t *testing.T) {
	a := newAttention()
	near(t, "a", headForward(a.x, a.p, a.mask, matrix{}), a.rho.MatMul(a.v))
	near(t, "a for ρ = 1", headForward(a.x, a.p, hand.WindowMask(6, 1), matrix{}), a.v)
}

// (17) A head takes (n, d) to (n, dh) with weights (d, dρ), (d, dρ) and (d, dh): the printed shape dh of the last lacks
// its d (erratum B9). The keys' bias is not among its parameters because it changes nothing.
func TestBoueEq17(t *testing.T) {
	a := newAttention()
	out := headForward(a.x, a.p, a.mask, matrix{})
	if out.Rows != 6 || out.Cols != 5 || a.p.Wv.Rows != 8 {
		t.Errorf("got (%d, %d) from w_v (%d, %d)", out.Rows, out.Cols, a.p.Wv.Rows, a.p.Wv.Cols)
	}
	p := a.p
	p.Bk = matrix{}
	near(t, "without b_k", headForward(a.x, p, a.mask, matrix{}), out)
	p.Wv = p.Wv.Tokens(0, 1)
	if headForward(a.x, p, a.mask, matrix{}).Err == nil {
		t.Error("w_v of shape (1, dh): got no error")
	}
}

// (18) The complete head, softmax(q kᵗ/√dρ + M) v. A token's output does not change by one bit when a later token does.
// With the mask multiplied, as printed, it does (erratum B1).
func TestBoueEq18(t *testing.T) {
	a := newAttention()
	out := headForward(a.x, a.p, a.mask, matrix{})
	near(t, "a", out, a.q.MatMul(a.k.Transpose()).Scale(1/math.Sqrt(3)).Add(a.mask).Softmax().MatMul(a.v))

	changed := hand.JoinTokens(a.x.Tokens(0, 5), fixture.Random("last", 1, 8).Scale(4))
	after := headForward(changed, a.p, a.mask, matrix{})
	if !slices.Equal(after.Tokens(0, 5).Data, out.Tokens(0, 5).Data) {
		t.Error("changing the last token changed an earlier output")
	}
	printed := func(x matrix) matrix {
		z := complexParameters{}
		for name, m := range a.parameters() {
			z[name] = lift(m)
		}
		z["x"] = lift(x)
		y := a.literal(z)
		re := hand.Zeros[float64](y.Rows, y.Cols)
		for i, v := range y.Data {
			re.Data[i] = real(v)
		}
		return re
	}
	wrongBy(t, "a as printed", printed(a.x), out, 0.585)
	wrongBy(
		t, "a(1) as printed after the last token changed", printed(changed).Tokens(0, 1), printed(a.x).Tokens(0, 1),
		0.633,
	)
}

// (19) The biases of the keys add the same number to all scores of a query and therefore cancel. If the roles of
// queries and keys are swapped it is the queries' bias.
func TestBoueEq19(t *testing.T) {
	a := newAttention()
	without := func(w matrix) matrix { return a.x.MatMul(w) }
	near(t, "ρ without b_k", attentionWeights(a.q, without(a.p.Wk), a.mask), a.rho)
	wrongBy(t, "ρ without b_q", attentionWeights(without(a.p.Wq), a.k, a.mask), a.rho, 0.0821)
	swapped := attentionWeights(a.k, a.q, a.mask)
	near(t, "softmax(k qᵗ) without b_q", attentionWeights(a.k, without(a.p.Wq), a.mask), swapped)
}

// (20) Two heads in sequence, without biases and with d = dh, are one with the product of their weights: a″ = ρ₂ρ₁ a w
// w. The square of w is a matrix product (erratum B11), and both layers use the same w.
func TestBoueEq20(t *testing.T) {
	x := fixture.Random("x", 6, 5)
	p := headParameters[float64]{
		Wq: fixture.Random("wq", 5, 3).Scale(3), Wk: fixture.Random("wk", 5, 3).Scale(3),
		Wv: fixture.Random("wv", 5, 5),
	}
	rho := func(x matrix) matrix {
		return attentionWeights(x.MatMul(p.Wq), x.MatMul(p.Wk), hand.CausalMask(6))
	}
	once := headForward(x, p, hand.CausalMask(6), matrix{})
	twice := headForward(once, p, hand.CausalMask(6), matrix{})
	mixed := rho(once).MatMul(rho(x)).MatMul(x)
	near(t, "a″", twice, mixed.MatMul(p.Wv.MatMul(p.Wv)))
	wrongBy(t, "a″ with w squared entry by entry", mixed.MatMul(p.Wv.Square()), twice, 1.13)
}
