package papers

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// The display before (18) multiplies exp(A) by D_A⁻¹ from the right, and its A is already the softmax. The row sums
// divide rows: D_A⁻¹ exp(A) with A = Q Kᵗ/√k (erratum C6).
func TestContiNormaliser(t *testing.T) {
	a := newAttention()
	e, rho := a.scaled.Exp(), a.scaled.Softmax()
	inverse := lifted(each(e.SumFeatures().Transpose(), func(v float64) float64 { return 1 / v }))
	near(t, "D⁻¹ exp(A)", inverse.MatMul(e), rho)
	printed := e.MatMul(inverse)
	wrongBy(t, "exp(A) D⁻¹", printed, rho, 0.755)
	stated(t, "largest row sum", printed.SumFeatures().Transpose().RowMax().Data[0], 1.54)
}

// (18) P RᵗR v is close to P v with a probability that approaches 1 as R gets more rows. That needs entries of mean 0
// and variance 1/k', which the text omits (erratum C7): then the mean of |P RᵗR v − P v|² is (‖P‖²‖v‖² + |Pv|²)/k'.
func TestContiEq18(t *testing.T) {
	const n, draws, epsilon = 6, 300, 0.5
	a, v := newAttention(), fixture.Random("v", n, 1).Shift(0.5)
	p := a.scaled.Softmax()
	want := p.MatMul(v)
	rng, last := rand.New(rand.NewPCG(18, 0)), 0.0
	for _, rows := range []int{4, 64, 1024} {
		within, square := 0.0, 0.0
		for range draws {
			r := hand.Zeros[float64](rows, n)
			for i := range r.Data {
				r.Data[i] = rng.NormFloat64() / math.Sqrt(float64(rows))
			}
			miss := frobenius(p.MatMul(r.Transpose().MatMul(r.MatMul(v))).Sub(want))
			if square += miss * miss / draws; miss < epsilon*frobenius(want) {
				within += 1. / draws
			}
		}
		expected := (dot(p, p)*dot(v, v) + dot(want, want)) / float64(rows)
		if !(math.Abs(square-expected) <= 0.25*expected) {
			t.Errorf("%d rows: got a mean square of %v, want about %v", rows, square, expected)
		}
		if !(within > last) {
			t.Errorf("%d rows: within %v with probability %v, want more than %v", rows, epsilon, within, last)
		}
		last = within
	}
	if last < 0.99 {
		t.Errorf("1024 rows: got probability %v, want nearly 1", last)
	}
}

// (19) Keys and values are mixed from n rows to k' before the softmax; with E = F = 1 it is attention. F V is (k', k),
// not the printed (k', d), and no mask makes it causal: every mixed key depends on the last token (erratum C7).
func TestContiEq19(t *testing.T) {
	a, none := newAttention(), matrix{}
	e, f := fixture.Random("E", 4, 6), fixture.Random("F", 4, 6)
	out := linformerForward(a.q, a.k, a.v, e, f, none)
	near(t, "head", out, a.q.MatMul(e.MatMul(a.k).Transpose()).Scale(1/math.Sqrt(3)).Softmax().MatMul(f).MatMul(a.v))
	if mixed := f.MatMul(a.v); mixed.Rows != 4 || mixed.Cols != 5 {
		t.Errorf("F V: got (%d, %d), want k' rows as wide as a value, (4, 5)", mixed.Rows, mixed.Cols)
	}
	one := permutation(natural(6)...)
	near(t, "E = F = 1", linformerForward(a.q, a.k, a.v, one, one, none), attentionForward(a.q, a.k, a.v, none, none))

	last := hand.JoinTokens(a.k.Tokens(0, 5), a.k.Tokens(5, 6).Scale(-1))
	moved := linformerForward(a.q, last, a.v, e, f, none)
	if slices.Equal(moved.Tokens(0, 1).Data, out.Tokens(0, 1).Data) {
		t.Error("the first output does not depend on the last key")
	}
	wrongBy(t, "first output after the last key changed", moved.Tokens(0, 1), out.Tokens(0, 1), 0.148)
}

// Chapter 3 has ⟨q, k⟩ in ℝ⁺ and drops 1/√k from α; with the normalised dot product, Σ⟨q, kᵢ⟩vᵢ/Σ⟨q, kᵢ⟩, the weights
// still sum to 1 but some are negative: it is not a convex combination (erratum C17).
func TestContiPooling(t *testing.T) {
	a := newAttention()
	weights := a.raw.Div(a.raw.SumFeatures())
	near(t, "Σ α", weights.SumFeatures(), ones(6, 1))
	stated(t, "smallest weight", -weights.Scale(-1).RowMax().Transpose().RowMax().Data[0], -1.11)
	negative := 0
	for _, v := range a.raw.Data {
		if v < 0 {
			negative++
		}
	}
	if negative == 0 {
		t.Error("⟨q, k⟩: got none below 0")
	}
	wrongBy(t, "α without 1/√k", a.raw.Softmax(), a.scaled.Softmax(), 0.282)
}
