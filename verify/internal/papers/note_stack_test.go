package papers

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

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
	wrongBy(t, "α_jk before the sum", first.Mul(second.SumFeatures()).MatMul(both), o, 0.256)
}

// (16) Both layers together are one layer with the weights α*_ik, the product of the two matrices of weights, and the
// values V₂V₁x. The rows of α* sum to 1. Printed as α*_ij it has no k, and weighs all tokens equally (erratum S2).
func TestNoteEq16(t *testing.T) {
	s, first, second, v1, v2 := noteTwoLayers()
	star := second.MatMul(first)
	o := second.MatMul(first.MatMul(s.x.MatMul(v1.Transpose())).MatMul(v2.Transpose()))
	both := s.x.MatMul(v2.MatMul(v1).Transpose())
	near(t, "α* V* x", star.MatMul(both), o)
	near(t, "Σ α*", star.SumFeatures(), ones(6, 1))
	alike := diagonal(star).Transpose().Mul(ones(1, 6)) // j = i
	wrongBy(t, "α* without k", alike.MatMul(both), o, 1.05)
}

// (17) The network of each token, W₂ ReLU(W₁h + b₁) + b₂ for columns, with a hidden layer of 5d instead of the usual 4d
// (erratum S10).
func TestNoteEq17(t *testing.T) {
	const d, f = 8, 40
	s := newNote()
	w1, b1, w2, b2 := fixture.Random("W1", f, d), fixture.Random("b1", 1, f), fixture.Random("W2", d, f), fixture.Random("b2", 1, d)
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
	near(t, "normalised again", zeroed.Div(zeroed.SumFeatures()), right)
	stated(t, "smallest row sum", -zeroed.SumFeatures().Transpose().Scale(-1).RowMax().Data[0], 0.0312)
	wrongBy(t, "h as printed", zeroed.MatMul(s.vs), right.MatMul(s.vs), 0.699)

	after := func(f func(x matrix) matrix) matrix {
		return f(hand.JoinTokens(s.x.Tokens(0, 5), s.x.Tokens(5, 6).Scale(-1)))
	}
	printed := func(x matrix) matrix {
		q, k := x.MatMul(s.q.Transpose()), x.MatMul(s.k.Transpose())
		return q.MatMul(k.Transpose()).Softmax().Mul(visible).MatMul(x.MatMul(s.v.Transpose())).Tokens(0, 1)
	}
	masked := func(x matrix) matrix {
		return unscaled(x.MatMul(s.q.Transpose()), x.MatMul(s.k.Transpose()), x.MatMul(s.v.Transpose()), hand.CausalMask(6)).Tokens(0, 1)
	}
	wrongBy(t, "first token after the last changed", after(printed), printed(s.x), 8.44)
	near(t, "the same with the scores masked", after(masked), masked(s.x))
}
