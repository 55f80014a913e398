package verify

import (
	"math"
	"slices"
	"testing"
)

// (1) The embeddings are a matrix with a row for each word of the vocabulary, or
// for each position of the context, and a column for each feature.
func TestBoueEq01(t *testing.T) {
	f := Generic()
	for name, rows := range map[string]int{"wte.weight": fixtureVocabulary, "wpe.weight": fixturePositions} {
		w := f.Parameters[name]
		if w.Rows != rows || w.Cols != fixtureFeatures {
			t.Errorf("%s: got (%d, %d), want (%d, %d)", name, w.Rows, w.Cols, rows, fixtureFeatures)
		}
		for i := range rows {
			near(t, name, EmbeddingForward(w, []int{i}), w.Tokens(i, i+1))
		}
	}
}

// (2) Looking rows up is a product with the one-hot matrix of the tokens, to the bit.
func TestBoueEq02(t *testing.T) {
	w, tokens := Random("w", 7, 4), []int{3, 0, 3, 6, 2}
	got, want := EmbeddingForward(w, tokens), oneHotRows(tokens, 7).MatMul(w)
	if !slices.Equal(got.Data, want.Data) {
		t.Errorf("got %v, want %v", got.Data, want.Data)
	}
}

// (3) The gradient of the embeddings is ohe(tokens)ᵗΔ: Δ is added up over the
// places where a word occurs, and a word that does not occur gets zero.
func TestBoueEq03(t *testing.T) {
	w, tokens, delta := Random("w", 7, 4), []int{3, 0, 3, 6, 2}, Random("delta", 5, 4)
	got := EmbeddingBackward(w, tokens, delta)
	near(t, "∂w", got, oneHotRows(tokens, 7).Transpose().MatMul(delta))
	near(t, "∂w of a word used twice", got.Tokens(3, 4), delta.Tokens(0, 1).Add(delta.Tokens(2, 3)))
	for _, absent := range []int{1, 4, 5} {
		if row := got.Tokens(absent, absent+1); frobenius(row) != 0 {
			t.Errorf("∂w of word %d, which does not occur: got %v, want 0", absent, row.Data)
		}
	}
}

// Section 1: Δ₁₂ = y_pred − y_gt. That is the gradient of the sum of the tokens'
// losses; their mean is smaller by exactly n (erratum B10: L_seq is never said to be
// one or the other). The targets are the tokens shifted by one place, not their
// indices increased by one, and the last token has none.
func TestBoueLoss(t *testing.T) {
	tokens, targets := Shift([]int{4, 0, 2, 2, 6})
	if !slices.Equal(tokens, []int{4, 0, 2, 2}) || !slices.Equal(targets, []int{0, 2, 2, 6}) {
		t.Errorf("got %v and %v", tokens, targets)
	}
	logits := Random("logits", 4, 7).Scale(5)
	pred, gt := logits.Softmax(), oneHotRows(targets, 7)
	near(t, "loss", CrossEntropyForward(logits, targets, Sum), gt.Mul(pred.Log()).SumTokens().SumFeatures().Scale(-1))
	near(t, "Δ of the sum", CrossEntropyBackward(logits, targets, Sum), pred.Sub(gt))
	wrongBy(t, "Δ of the mean", CrossEntropyBackward(logits, targets, Sum), CrossEntropyBackward(logits, targets, Mean), 4-1)
	near(t, "mean", CrossEntropyForward(logits, targets, Mean).Scale(4), CrossEntropyForward(logits, targets, Sum))
	vanishes(t, "Σ_v Δ", CrossEntropyBackward(logits, targets, Sum).SumFeatures())
	if p := pred.SumFeatures().At(0, 0); !(math.Abs(p-1) <= 1e-15) {
		t.Errorf("probabilities of the first token sum to %v", p)
	}
}
