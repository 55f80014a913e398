package papers

import (
	"math"
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
	near(t, "loss", crossEntropyForward(logits, targets, hand.Sum), gt.Mul(pred.Log()).SumTokens().SumFeatures().Scale(-1))
	near(t, "Δ of the sum", crossEntropyBackward(logits, targets, hand.Sum), pred.Sub(gt))
	wrongBy(t, "Δ of the mean", crossEntropyBackward(logits, targets, hand.Sum), crossEntropyBackward(logits, targets, hand.Mean), 4-1)
	near(t, "mean", crossEntropyForward(logits, targets, hand.Mean).Scale(4), crossEntropyForward(logits, targets, hand.Sum))
	vanishes(t, "Σ_v Δ", crossEntropyBackward(logits, targets, hand.Sum).SumFeatures())
	if p := pred.SumFeatures().At(0, 0); !(math.Abs(p-1) <= 1e-15) {
		t.Errorf("probabilities of the first token sum to %v", p)
	}
}
