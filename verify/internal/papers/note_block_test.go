package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// (27) Mean and deviation run over the d features of one token, and the deviation is the population's. (The μ
// under the root is the estimate μ̂.) Neither depends on other tokens.
func TestNoteEq27(t *testing.T) {
	s := newNote()
	centred := s.h.Sub(s.h.Mean())
	_, sigma := normalise(s.h, 0)
	for i := range 6 {
		mu, variance := moments(s.h.Tokens(i, i+1).Data)
		near(t, "μ̂", s.h.Mean().Tokens(i, i+1), hand.NewMatrix(1, 1, mu))
		near(t, "σ̂", sigma.Tokens(i, i+1), hand.NewMatrix(1, 1, math.Sqrt(variance)))
		_, alone := normalise(s.h.Tokens(i, i+1), 0)
		near(t, "σ̂ of a token alone", alone, sigma.Tokens(i, i+1))
	}
	near(t, "LN by hand", layerNormPlainForward(s.h, 0), centred.Div(sigma))
	near(t, "Σ (h − μ̂)²/d", centred.Square().Mean(), sigma.Square())
}

// (28) The LayerNorm without gain and shift: mean 0 and deviation 1. Without an ε a token of equal features gives NaN,
// and so does its gradient (erratum S7).
func TestNoteEq28(t *testing.T) {
	s := newNote()
	out := layerNormPlainForward(s.h, 0)
	near(t, "LN", out, s.h.Sub(s.h.Mean()).Div(s.h.Sub(s.h.Mean()).Square().Mean().Sqrt()))
	vanishes(t, "mean", out.Mean())
	near(t, "variance", out.Square().Mean(), ones(6, 1))
	equal := ones(1, 8)
	dx := layerNormPlainBackward(equal, fixture.Random("delta", 1, 8), 0)
	for i, v := range layerNormPlainForward(equal, 0).Data {
		if !math.IsNaN(v) || !math.IsNaN(dx.Data[i]) {
			t.Errorf("equal features: got %v, gradient %v, want NaN", v, dx.Data[i])
		}
	}
	vanishes(t, "equal features with ε", layerNormPlainForward(equal, 1e-5))
}

// noteLayer returns the f of (29) to (31), a network of two layers.
func noteLayer[T hand.Number](x hand.Matrix[T]) hand.Matrix[T] {
	return linearForward(
		geluForward(linearForward(x, hand.Lift[T](fixture.Random("w1", 8, 13)), hand.Matrix[T]{})),
		hand.Lift[T](fixture.Random("w2", 13, 8)), hand.Matrix[T]{},
	)
}

func noteLayerBackward(x, delta matrix) matrix {
	p := mlpParameters[float64]{W1: fixture.Random("w1", 8, 13), W2: fixture.Random("w2", 13, 8)}
	dx, _ := mlpBackward(x, p, "gelu", delta)
	return dx
}

// noteNorm returns (28) with an ε.
func noteNorm[T hand.Number](x hand.Matrix[T]) hand.Matrix[T] {
	return layerNormPlainForward(x, 1e-5)
}

func noteNormBackward(x, delta matrix) matrix {
	return layerNormPlainBackward(x, delta, 1e-5)
}

// noteGradient returns the complex step of Σ y∘Δ.
func noteGradient(t *testing.T, x, delta matrix, f func(complexMatrix) complexMatrix) matrix {
	t.Helper()
	return complexStep(t, func(z complexParameters) complexMatrix { return f(z["x"]) }, parameters{"x": x}, delta)["x"]
}

// (29) A layer's input is added to its output, so Δ passes unchanged around the layer and also through it.
func TestNoteEq29(t *testing.T) {
	x, delta := newNote().x, fixture.Random("delta", 6, 8)
	truth := noteGradient(t, x, delta, func(x complexMatrix) complexMatrix { return residualForward(noteLayer(x), x) })
	near(t, "Δx", residualBackward(delta, noteLayerBackward(x, delta)), truth)
	alone := noteGradient(t, x, delta, noteLayer[complex128])
	near(t, "Δx of f and of the identity", alone.Add(delta), truth)
}

// (30) Pre-norm: f(LN(h)) + h. The residual is never normalised and grows from layer to layer, so that a stack needs
// one more LayerNorm at its end, which the text does not state (erratum S10).
func TestNoteEq30(t *testing.T) {
	x, delta := newNote().x, fixture.Random("delta", 6, 8)
	truth := noteGradient(t, x, delta, func(x complexMatrix) complexMatrix { return noteLayer(noteNorm(x)).Add(x) })
	near(t, "Δx", residualBackward(delta, noteNormBackward(x, noteLayerBackward(noteNorm(x), delta))), truth)

	size := func(x matrix) float64 { return math.Sqrt(dot(x, x) / float64(len(x.Data))) }
	h := noteNorm(x)
	for range 12 {
		h = noteLayer(noteNorm(h)).Add(h)
	}
	stated(t, "size of a feature after 12 layers", size(h), 5.22)
	stated(t, "the same after a last LayerNorm", size(noteNorm(h)), 1)
}

// (31) Post-norm: LN(f(h) + h). For any layers the output has mean 0 and variance 1, and Δ passes through each of the
// LayerNorms.
func TestNoteEq31(t *testing.T) {
	x, delta := newNote().x, fixture.Random("delta", 6, 8)
	truth := noteGradient(t, x, delta, func(x complexMatrix) complexMatrix { return noteNorm(noteLayer(x).Add(x)) })
	inner := noteNormBackward(noteLayer(x).Add(x), delta)
	near(t, "Δx", residualBackward(inner, noteLayerBackward(x, inner)), truth)

	h := x
	for range 12 {
		h = noteNorm(noteLayer(h).Add(h))
	}
	vanishes(t, "mean", h.Mean())
	stated(t, "variance", h.Square().Mean().Data[0], 1)
}

// noteTwoLayers returns attention weights and values of two layers, one on top of the other.
func noteTwoLayers() (s note, first, second, v1, v2 matrix) {
	s = newNote()
	v1, v2 = s.v, fixture.Random("V2", 8, 8)
	first = s.alpha
	second = unscaled(s.h, s.h, permutation(natural(6)...), matrix{}) // of the output of the first layer
	return s, first, second, v1, v2
}

// (14) Two layers average averages. The second has its own weights, computed from the output of the first; the paper
// prints one α for both (erratum S2).
func TestNoteEq14(t *testing.T) {
	s, first, second, v1, v2 := noteTwoLayers()
	o := second.MatMul(first).MatMul(s.x).MatMul(v1.Transpose()).MatMul(v2.Transpose())
	for i := range 6 {
		sum := hand.Zeros[float64](8, 1)
		for j := range 6 {
			inner := hand.Zeros[float64](8, 1)
			for k := range 6 {
				inner = inner.Add(v1.MatMul(tokenColumn(s.x, k)).Scale(first.At(j, k)))
			}
			sum = sum.Add(v2.MatMul(inner).Scale(second.At(i, j)))
		}
		near(t, "o", sum, tokenColumn(o, i))
	}
	same := first.MatMul(first).MatMul(s.x).MatMul(v1.Transpose()).MatMul(v2.Transpose())
	wrongBy(t, "o with one α", same, o, 1.32)
}

// (15) The sums can be exchanged; Σ_j then covers both α: Σ_k (Σ_j α_ij α_jk). As printed, α_jk is outside the sum over
// j; its j is free, and with j = i the second layer vanishes (erratum S2).
func TestNoteEq15(t *testing.T) {
	s, first, second, v1, v2 := noteTwoLayers()
	o := second.MatMul(first.MatMul(s.x.MatMul(v1.Transpose())).MatMul(v2.Transpose()))
	both := s.x.MatMul(v2.MatMul(v1).Transpose())
	sum := hand.Zeros[float64](6, 8)
	for k := range 6 {
		sum = sum.Add(second.MatMul(first.Columns(k, k+1)).MatMul(both.Tokens(k, k+1)))
	}
	near(t, "o", sum, o)
	wrongBy(t, "α_jk before the sum", first.Mul(second.Sum()).MatMul(both), o, 0.256)
}

// (16) Both layers together are one layer with the weights α*_ik, the product of the two matrices of weights, and the
// values V₂V₁x. The rows of α* sum to 1. Printed as α*_ij it has no k, and weighs all tokens equally (erratum S2).
func TestNoteEq16(t *testing.T) {
	s, first, second, v1, v2 := noteTwoLayers()
	star := second.MatMul(first)
	o := second.MatMul(first.MatMul(s.x.MatMul(v1.Transpose())).MatMul(v2.Transpose()))
	both := s.x.MatMul(v2.MatMul(v1).Transpose())
	near(t, "α* V* x", star.MatMul(both), o)
	near(t, "Σ α*", star.Sum(), ones(6, 1))
	alike := diagonal(star).Transpose().Mul(ones(1, 6)) // j = i
	wrongBy(t, "α* without k", alike.MatMul(both), o, 1.05)
}

// (17) The network of each token, W₂ ReLU(W₁h + b₁) + b₂ for columns, with a hidden layer of 5d instead of the usual 4d
// (erratum S10).
func TestNoteEq17(t *testing.T) {
	const d, f = 8, 40
	s := newNote()
	w1, b1 := fixture.Random("W1", f, d), fixture.Random("b1", 1, f)
	w2, b2 := fixture.Random("W2", d, f), fixture.Random("b2", 1, d)
	got := mlpForward(s.h, mlpParameters[float64]{w1.Transpose(), b1, w2.Transpose(), b2}, "relu")
	for i := range 6 {
		hidden := w1.MatMul(tokenColumn(s.h, i)).Add(b1.Transpose())
		near(t, "h_FF", w2.MatMul(hidden.Mul(hidden.Step())).Add(b2.Transpose()), tokenColumn(got, i))
	}
}

// (21) The weights above the diagonal are 0. The future must be removed from the scores: weights that are set to 0
// after the softmax do not sum to 1, and their divisor still contains the scores of the future. "Equivalently" holds
// only if the rows are normalised again (erratum S3).
func TestNoteEq21(t *testing.T) {
	s := newNote()
	visible := hand.CausalMask(6).Exp()
	right := s.scores.Add(hand.CausalMask(6)).Softmax()
	zeroed := s.alpha.Mul(visible)
	near(t, "normalised again", zeroed.Div(zeroed.Sum()), right)
	stated(t, "smallest row sum", -zeroed.Sum().Transpose().Scale(-1).RowMax().Data[0], 0.0312)
	wrongBy(t, "h as printed", zeroed.MatMul(s.vs), right.MatMul(s.vs), 0.699)

	after := func(f func(x matrix) matrix) matrix {
		return f(hand.JoinTokens(s.x.Tokens(0, 5), s.x.Tokens(5, 6).Scale(-1)))
	}
	printed := func(x matrix) matrix {
		q, k := x.MatMul(s.q.Transpose()), x.MatMul(s.k.Transpose())
		return q.MatMul(k.Transpose()).Softmax().Mul(visible).MatMul(x.MatMul(s.v.Transpose())).Tokens(0, 1)
	}
	masked := func(x matrix) matrix {
		return unscaled(
			x.MatMul(s.q.Transpose()), x.MatMul(s.k.Transpose()), x.MatMul(s.v.Transpose()), hand.CausalMask(6),
		).Tokens(0, 1)
	}
	wrongBy(t, "first token after the last changed", after(printed), printed(s.x), 8.44)
	near(t, "the same with the scores masked", after(masked), masked(s.x))
}

// noteEncoder returns a block without a mask, on tokens without positions.
func noteEncoder(t *testing.T, x matrix) matrix {
	t.Helper()
	e := newContiBlock()
	e.Eps = 1e-5
	block, err := blockForward(e.Plan, e.p, 0, x)
	if err != nil {
		t.Fatal(err)
	}
	return block.A10
}

// (33) The encoder has no mask: every output depends on every token, those after it included. Without positions, tokens
// in another order give the same outputs in that order.
func TestNoteEq33(t *testing.T) {
	x := newNote().x
	h := noteEncoder(t, x)
	for j := range 6 {
		changed := x.Add(oneHotRows([]int{j}, 6).Transpose().MatMul(fixture.Random("change", 1, 8)))
		moved := noteEncoder(t, changed).Sub(h).Square().Sum()
		for i, v := range moved.Data {
			if !(v > 0) {
				t.Errorf("output %d does not depend on token %d", i, j)
			}
		}
	}
	p := permutation(3, 1, 5, 0, 2, 4)
	near(t, "encoder of shuffled tokens", noteEncoder(t, p.MatMul(x)), p.MatMul(h))
}

// noteCross returns a decoder's m = 4 tokens and an encoder's n = 6, and the results of (34) to (36) for them.
func noteCross(t *testing.T) (s note, y, h, q, k, v matrix) {
	t.Helper()
	s = newNote()
	y, h = fixture.Random("y", 4, 8).Scale(4), noteEncoder(t, s.x)
	return s, y, h, y.MatMul(s.q.Transpose()), h.MatMul(s.k.Transpose()), h.MatMul(s.v.Transpose())
}

// cross returns the matrices of (34) to (36) for tokens as rows, with one head and no output projection.
func (s note) cross() (crossParameters[float64], multiHead) {
	weights := crossParameters[float64]{
		Wq: s.q.Transpose(), Wkv: hand.Join(s.k.Transpose(), s.v.Transpose()), Wo: permutation(natural(8)...),
	}
	return weights, multiHead{Batch: 1, Heads: 1, QK: 8}
}

// (34) The queries come from the m tokens of the decoder, and so does the number of outputs. (Both sequences have the
// length m in the text above, erratum S9.)
func TestNoteEq34(t *testing.T) {
	s, y, h, q, k, v := noteCross(t)
	out := unscaled(q, k, v, matrix{})
	if out.Rows != 4 || out.Cols != 8 {
		t.Errorf("got (%d, %d), want a row for each query, (4, 8)", out.Rows, out.Cols)
	}
	weights, m := s.cross()
	near(t, "by hand", crossAttentionForward(y.Scale(math.Sqrt(8)), h, weights, m), out)
	for i := range 4 {
		near(t, "q", s.q.MatMul(tokenColumn(y, i)), tokenColumn(q, i))
		near(t, "h of one query alone", unscaled(q.Tokens(i, i+1), k, v, matrix{}), out.Tokens(i, i+1))
	}
}

// (35) The keys come from the n tokens of the encoder: there are n weights for each of m queries.
func TestNoteEq35(t *testing.T) {
	s, y, h, q, k, v := noteCross(t)
	weights := attentionWeights(q, k, matrix{})
	if weights.Rows != 4 || weights.Cols != 6 {
		t.Errorf("got (%d, %d) weights, want (m, n) = (4, 6)", weights.Rows, weights.Cols)
	}
	near(t, "Σ α", weights.Sum(), ones(4, 1))
	numbers, m := s.cross()
	near(t, "h by hand", crossAttentionForward(y, h, numbers, m), weights.MatMul(v))
	for j := range 6 {
		near(t, "k", s.k.MatMul(tokenColumn(h, j)), tokenColumn(k, j))
	}
}

// (36) The values come from the encoder, like the keys, and the Δ at its output is the sum of both.
func TestNoteEq36(t *testing.T) {
	s, y, h, q, k, v := noteCross(t)
	for j := range 6 {
		near(t, "v", s.v.MatMul(tokenColumn(h, j)), tokenColumn(v, j))
	}
	delta, none := fixture.Random("delta", 4, 8), matrix{}
	truth := complexStep(t, func(z complexParameters) complexMatrix {
		q, k := z["y"].MatMul(lift(s.q).Transpose()), z["h"].MatMul(lift(s.k).Transpose())
		v := z["h"].MatMul(lift(s.v).Transpose())
		return attentionForward(q, k, v, none, none)
	}, parameters{"y": y, "h": h}, delta)
	dq, dk, dv := attentionBackward(q, k, v, none, none, delta)
	near(t, "Δy", dq.MatMul(s.q), truth["y"])
	weights, m := s.cross()
	near(t, "h by hand", crossAttentionForward(y, h, weights, m), attentionForward(q, k, v, none, none))
	dy, dh, _ := crossAttentionBackward(y, h, weights, m, delta)
	near(t, "Δy by hand", dy, truth["y"])
	near(t, "Δh by hand", dh, truth["h"])
	near(t, "Δh", dk.MatMul(s.k).Add(dv.MatMul(s.v)), truth["h"])
}
