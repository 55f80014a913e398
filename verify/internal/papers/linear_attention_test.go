package papers

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// linearExample returns queries and keys of width 3, values of width 5 and a Δ, for 7 tokens.
func linearExample() (q, k, v, delta matrix) {
	return fixture.Random("q", 7, 3).Scale(4), fixture.Random("k", 7, 3).Scale(4), fixture.Random("v", 7, 5),
		fixture.Random("delta", 7, 5)
}

// The O(n) scan is the quadratic form under a causal mask, value and gradients, and the complex step agrees with them.
func TestI45ScanEqualsQuadratic(t *testing.T) {
	q, k, v, delta := linearExample()
	causal := hand.CausalMask(7).Exp()
	phiQ, phiK := eluPlusOneForward(q), eluPlusOneForward(k)
	near(t, "o", linearScanForward(phiQ, phiK, v), linearAttentionForward(phiQ, phiK, v, causal))
	gotQ, gotK, gotV := linearScanBackward(phiQ, phiK, v, delta)
	wantQ, wantK, wantV := linearAttentionBackward(phiQ, phiK, v, causal, delta)
	near(t, "Δφq", gotQ, wantQ)
	near(t, "Δφk", gotK, wantK)
	near(t, "Δv", gotV, wantV)
	truth, err := verify.ComplexStep(func(z complexParameters) (complex128, error) {
		out := linearScanForward(eluPlusOneForward(z["q"]), eluPlusOneForward(z["k"]), z["v"])
		return out.Mul(hand.Lift[complex128](delta)).SumTokens().Sum().Data[0], out.Err
	}, parameters{"q": q, "k": k, "v": v})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "Δq", eluPlusOneBackward(q, gotQ), truth["q"])
	near(t, "Δk", eluPlusOneBackward(k, gotK), truth["k"])
	near(t, "Δv by the complex step", gotV, truth["v"])
}

// Without a mask the sums over all keys come first, once for all queries: φq (φkᵗ v)/φq Σφk.
func TestI45SumsFirst(t *testing.T) {
	q, k, v, _ := linearExample()
	phiQ, phiK := eluPlusOneForward(q), eluPlusOneForward(k)
	linear := phiQ.MatMul(phiK.Transpose().MatMul(v)).Div(phiQ.MatMul(phiK.SumTokens().Transpose()))
	near(t, "o", linearAttentionForward(phiQ, phiK, v, matrix{}), linear)
	near(t, "φ", phiQ.Step(), ones(7, 3)) // positive
	near(t, "φ of positive numbers", eluPlusOneForward(q.Square()), q.Square().Shift(1))
	near(t, "φ of negative numbers", eluPlusOneForward(q.Square().Scale(-1)), q.Square().Scale(-1).Exp())
}

// Conti's sums, corrected, are the quadratic form with the weights 1 + q̂·k̂, which are not negative and sum to 1; with
// a causal mask i stands in place of n.
func TestI46LinearEqualsQuadratic(t *testing.T) {
	q, k, v, _ := linearExample()
	for _, eps := range []float64{0, 1e-5} {
		phiQ, phiK := taylorFeaturesForward(q, eps), taylorFeaturesForward(k, eps)
		hatQ, hatK := phiQ.Columns(1, 4), phiK.Columns(1, 4)
		top := v.SumTokens().Add(hatQ.MatMul(hatK.Transpose().MatMul(v)))
		bottom := hatQ.MatMul(hatK.SumTokens().Transpose()).Shift(7)
		near(t, "o", linearAttentionForward(phiQ, phiK, v, matrix{}), top.Div(bottom))
		weights := phiQ.MatMul(phiK.Transpose())
		near(t, "weights", weights, hatQ.MatMul(hatK.Transpose()).Shift(1))
		near(t, "weights above 0", weights.Step(), ones(7, 7))
		near(t, "sums of rows", linearAttentionForward(phiQ, phiK, ones(7, 1), matrix{}), ones(7, 1))
		causal := linearScanForward(phiQ, phiK, v)
		near(t, "causal", causal, linearAttentionForward(phiQ, phiK, v, hand.CausalMask(7).Exp()))
		for i := range 7 {
			past, seen := hatK.Tokens(0, i+1), v.Tokens(0, i+1)
			own := hatQ.Tokens(i, i+1)
			top := seen.SumTokens().Add(own.MatMul(past.Transpose().MatMul(seen)))
			near(
				t, "token i", causal.Tokens(i, i+1),
				top.Div(own.MatMul(past.SumTokens().Transpose()).Shift(float64(i+1))),
			)
		}
	}
	if d := frobenius(taylorFeaturesForward(q, 0).Columns(1, 4).Square().Sum().Sub(ones(7, 1))); !(d <= 1e-14) {
		t.Errorf("without ε: lengths are off by %.1e, want unit vectors", d)
	}
	zero := taylorFeaturesForward(hand.Zeros[float64](7, 3), 1e-5) // a query of zeros looks at all keys alike
	near(
		t, "o of zeros", linearAttentionForward(zero, taylorFeaturesForward(k, 1e-5), v, matrix{}),
		ones(7, 7).Scale(1./7).MatMul(v),
	)
}

// A step along a query or a key changes only its length: the gradient is perpendicular, without ε.
func TestI46GradientIsPerpendicular(t *testing.T) {
	q, k, v, delta := linearExample()
	dphiQ, dphiK, _ := linearAttentionBackward(
		taylorFeaturesForward(q, 0), taylorFeaturesForward(k, 0), v, matrix{}, delta,
	)
	for name, along := range map[string]matrix{
		"q": q.Mul(taylorFeaturesBackward(q, 0, dphiQ)).Sum(),
		"k": k.Mul(taylorFeaturesBackward(k, 0, dphiK)).Sum(),
	} {
		if d := frobenius(along); !(d <= 1e-12) {
			t.Errorf("%s·Δ%s is %.1e, want 0", name, name, d)
		}
	}
}

// With E = F = 1 Linformer is attention without a mask, value and gradients.
func TestI47IdentityIsAttention(t *testing.T) {
	q, k, v, delta := linearExample()
	none, one := matrix{}, permutation(natural(7)...)
	near(t, "head", linformerForward(q, k, v, one, one, none), attentionForward(q, k, v, none, none))
	gotQ, gotK, gotV, _, _ := linformerBackward(q, k, v, one, one, none, delta)
	wantQ, wantK, wantV := attentionBackward(q, k, v, none, none, delta)
	near(t, "Δq", gotQ, wantQ)
	near(t, "Δk", gotK, wantK)
	near(t, "Δv", gotV, wantV)
}

// The last key is in every mixture: it changes the first row.
func TestI47NotCausal(t *testing.T) {
	q, k, v, _ := linearExample()
	e, f := fixture.Random("E", 4, 7), fixture.Random("F", 4, 7)
	out := linformerForward(q, k, v, e, f, matrix{})
	last := hand.JoinTokens(k.Tokens(0, 6), k.Tokens(6, 7).Scale(-1))
	moved := linformerForward(q, last, v, e, f, matrix{})
	if d := frobenius(moved.Tokens(0, 1).Sub(out.Tokens(0, 1))); !(d > 1e-3) {
		t.Errorf("the first row moved by %.1e, want more: it does not see the last key", d)
	}
}
