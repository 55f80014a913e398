package verify

import (
	"math"
	"slices"
	"testing"
)

// If all actions were worth 1 their objective is the cross entropy of the actions as targets, in value and Δ.
func TestI55EqualsCrossEntropy(t *testing.T) {
	logits := Random("logits", 12, 8).Scale(4)
	r, _, _ := caseRollout()
	r.Advantages, r.Weights = ones(12, 1), ones(12, 1)
	near(t, "L", ReinforceForward(logits, r), CrossEntropyForward(logits, r.Actions, Mean))
	near(t, "Δ", ReinforceBackward(logits, r), CrossEntropyBackward(logits, r.Actions, Mean))
	targets := append([]int{}, r.Actions...)
	for i := range 4 { // weights of 0 are targets that are ignored
		targets[3*i], r.Weights.Data[3*i] = Ignore, 0
	}
	near(t, "L, some ignored", ReinforceForward(logits, r), CrossEntropyForward(logits, targets, Mean))
	near(t, "Δ, some ignored", ReinforceBackward(logits, r), CrossEntropyBackward(logits, targets, Mean))
}

// E[∇ ln π(a)] = 0 over the actions that π draws, summed up over all of them. So a baseline changes nothing in the mean:
// E[(R(a) − v)∇ ln π(a)] is the same for every v. What it changes is the variance, least of all for v near E[R].
func TestI55BaselineChangesNothingInTheMean(t *testing.T) {
	logits := Random("logits", 1, 8).Scale(4)
	pi, worth := logits.Softmax(), Random("worth", 1, 8).Shift(5)
	mean := func(v float64, value func(a int) float64) (expected Matrix[float64], variance float64) {
		expected = Zeros[float64](1, 8)
		squares := 0.0
		for a := range 8 {
			r := Rollout{Actions: []int{a}, Advantages: NewMatrix(1, 1, value(a)-v), Weights: ones(1, 1)}
			g := ReinforceBackward(logits, r)
			expected = expected.Add(g.Scale(pi.Data[a]))
			squares += pi.Data[a] * dot(g, g)
		}
		return expected, squares - dot(expected, expected)
	}
	nothing, _ := mean(0, func(int) float64 { return 1 })
	vanishes(t, "E[∇ ln π]", nothing)
	reward := func(a int) float64 { return worth.Data[a] }
	want, noise := mean(0, reward)
	for _, v := range []float64{-3, 1, dot(pi, worth)} {
		got, _ := mean(v, reward)
		near(t, "E[A ∇ ln π]", got, want)
	}
	if _, less := mean(dot(pi, worth), reward); !(less < noise/10) {
		t.Errorf("variance with E[R] as the baseline: got %v, without %v", less, noise)
	}
	// and the expectation is the gradient of −E[R] = −Σ π(a)R(a) itself
	truth := witness(t, func(z Parameters[complex128]) complexMatrix {
		return z["z"].Softmax().Mul(lift(worth)).SumFeatures().Scale(-1)
	}, Parameters[float64]{"z": logits}, ones(1, 1))
	near(t, "∇E[R]", want, truth["z"])
}

// Before the policy has moved, r = 1, PPO's Δ is Reinforce's; its value is −ΣwA/Σw.
func TestI56EqualsReinforceAtRatioOne(t *testing.T) {
	logits := Random("logits", 12, 8).Scale(4)
	r, _, _ := caseRollout()
	r.LogProbs = logProbs(logits, r.Actions)
	near(t, "Δ", PPOBackward(logits, r, caseClip), ReinforceBackward(logits, r))
	near(t, "L", PPOForward(logits, r, caseClip), r.Advantages.Mul(r.share()).SumTokens().Scale(-1))
}

// Δ is exactly 0 where A has pushed r out of 1 ± ε already, and only there (and where the weight is 0): where r has gone
// too far to the other side it is pulled back.
func TestI56ZeroOutsideTheClip(t *testing.T) {
	for _, c := range []struct {
		ratio, advantage float64
		active           bool
	}{
		{1.5, 1, false}, {1.5, -1, true}, {0.5, 1, true}, {0.5, -1, false}, {1.1, 1, true}, {1.1, -1, true}, {0.9, 1, true}, {0.9, -1, true},
	} {
		logits := Random("logits", 1, 8).Scale(4)
		r := Rollout{Actions: []int{2}, Advantages: NewMatrix(1, 1, c.advantage), Weights: ones(1, 1)}
		r.LogProbs = logProbs(logits, r.Actions).Shift(-math.Log(c.ratio))
		got := PPOBackward(logits, r, caseClip)
		want := Zeros[float64](1, 8)
		if c.active {
			want = ReinforceBackward(logits, r).Scale(c.ratio)
		}
		if !c.active && frobenius(got) != 0 {
			t.Errorf("%+v: Δ = %v, want 0", c, got.Data)
		}
		near(t, "Δ", got, want)
		limit := min(c.ratio*c.advantage, min(max(c.ratio, 1-caseClip), 1+caseClip)*c.advantage)
		near(t, "L", PPOForward(logits, r, caseClip), NewMatrix(1, 1, -limit))
	}
}

// A clip on the wrong side, where A has pushed r towards 1, and one that is left out, are caught by the Case.
func TestI56WrongClips(t *testing.T) {
	r, _, _ := caseRollout()
	opposite := r
	opposite.Advantages = r.Advantages.Scale(-1)
	for name, wrong := range map[string]func(z Matrix[float64]) Matrix[float64]{
		"on the wrong side": func(z Matrix[float64]) Matrix[float64] { return PPOBackward(z, opposite, caseClip).Scale(-1) },
		"left out":          func(z Matrix[float64]) Matrix[float64] { return PPOBackward(z, r, math.Inf(1)) },
	} {
		cases := policyCases()
		c := cases[slices.IndexFunc(cases, func(c Case) bool { return c.ID == "I56" })]
		c.Backward = func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			return Parameters[float64]{input: wrong(p[input]).Mul(delta)}
		}
		report, err := c.Run()
		if err != nil {
			t.Fatal(err)
		}
		if report.OK() {
			t.Errorf("a clip %s: got no failure", name)
		}
	}
}
