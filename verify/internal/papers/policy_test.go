package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

const clip = 0.2

// exampleRollout returns a rollout with ratios inside 1 ± ε and outside on both sides, under advantages of both signs.
func exampleRollout() (r hand.Rollout, returns, baseline matrix) {
	const n = fixture.Batch * fixture.Tokens
	r.Actions = []int{2, 7, 0, 1, 2, 5, 6, 3, 3, 4, 1, 0}
	r.Weights = fixture.Random("weights", n, 1).Shift(0.6)
	r.Weights.Data[3] = 0
	baseline = fixture.Random("baseline", n, 1)
	r.Advantages, r.LogProbs = hand.Zeros[float64](n, 1), hand.Zeros[float64](n, 1)
	now := logProbs(fixture.Random(input, n, fixture.Features).Scale(4), r.Actions)
	for i := range n {
		ratio := []float64{0.5, 0.9, 1.1, 1.6}[i%4]
		r.LogProbs.Data[i] = now.Data[i] - math.Log(ratio)
		r.Advantages.Data[i] = []float64{1.3, -0.7, 0.4}[i%3]
	}
	return r, r.Advantages.Add(baseline), baseline
}

// If all advantages are 1, the objective is the cross entropy with the actions as targets, in value and Δ.
func TestI55EqualsCrossEntropy(t *testing.T) {
	logits := fixture.Random("logits", 12, 8).Scale(4)
	r, _, _ := exampleRollout()
	r.Advantages, r.Weights = ones(12, 1), ones(12, 1)
	near(t, "L", reinforceForward(logits, r), crossEntropyForward(logits, r.Actions, hand.Mean))
	near(t, "Δ", reinforceBackward(logits, r), crossEntropyBackward(logits, r.Actions, hand.Mean))
	targets := append([]int{}, r.Actions...)
	for i := range 4 { // weights of 0 are targets that are ignored
		targets[3*i], r.Weights.Data[3*i] = hand.Ignore, 0
	}
	near(t, "L, some ignored", reinforceForward(logits, r), crossEntropyForward(logits, targets, hand.Mean))
	near(t, "Δ, some ignored", reinforceBackward(logits, r), crossEntropyBackward(logits, targets, hand.Mean))
}

// E[∇ ln π(a)] = 0 over the actions drawn from π, as a sum over all actions. So a baseline does not change the mean:
// E[(R(a) − v)∇ ln π(a)] is the same for every v. It changes the variance, which is smallest for v near E[R].
func TestI55BaselineChangesNothingInTheMean(t *testing.T) {
	logits := fixture.Random("logits", 1, 8).Scale(4)
	pi, worth := logits.Softmax(), fixture.Random("worth", 1, 8).Shift(5)
	mean := func(v float64, value func(a int) float64) (expected matrix, variance float64) {
		expected = hand.Zeros[float64](1, 8)
		squares := 0.0
		for a := range 8 {
			r := hand.Rollout{Actions: []int{a}, Advantages: hand.NewMatrix(1, 1, value(a)-v), Weights: ones(1, 1)}
			g := reinforceBackward(logits, r)
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
	truth := complexStep(t, func(z complexParameters) complexMatrix {
		return z["z"].Softmax().Mul(lift(worth)).Sum().Scale(-1)
	}, parameters{"z": logits}, ones(1, 1))
	near(t, "∇E[R]", want, truth["z"])
}

// Before the policy changes, r = 1 and PPO's Δ is Reinforce's; its value is −ΣwA/Σw.
func TestI56EqualsReinforceAtRatioOne(t *testing.T) {
	logits := fixture.Random("logits", 12, 8).Scale(4)
	r, _, _ := exampleRollout()
	r.LogProbs = logProbs(logits, r.Actions)
	near(t, "Δ", ppoBackward(logits, r, clip), reinforceBackward(logits, r))
	near(
		t, "L", ppoForward(logits, r, clip),
		r.Advantages.Mul(r.Weights.Div(r.Weights.SumTokens())).SumTokens().Scale(-1),
	)
}

// Δ is exactly 0 only where A has already pushed r out of 1 ± ε, and where the weight is 0. Where r is outside on the
// other side it is pulled back.
func TestI56ZeroOutsideTheClip(t *testing.T) {
	for _, c := range []struct {
		ratio, advantage float64
		active           bool
	}{
		{1.5, 1, false}, {1.5, -1, true}, {0.5, 1, true}, {0.5, -1, false}, {1.1, 1, true}, {1.1, -1, true},
		{0.9, 1, true}, {0.9, -1, true},
	} {
		logits := fixture.Random("logits", 1, 8).Scale(4)
		r := hand.Rollout{Actions: []int{2}, Advantages: hand.NewMatrix(1, 1, c.advantage), Weights: ones(1, 1)}
		r.LogProbs = logProbs(logits, r.Actions).Shift(-math.Log(c.ratio))
		got := ppoBackward(logits, r, clip)
		want := hand.Zeros[float64](1, 8)
		if c.active {
			want = reinforceBackward(logits, r).Scale(c.ratio)
		}
		if !c.active && frobenius(got) != 0 {
			t.Errorf("%+v: Δ = %v, want 0", c, got.Data)
		}
		near(t, "Δ", got, want)
		limit := min(c.ratio*c.advantage, min(max(c.ratio, 1-clip), 1+clip)*c.advantage)
		near(t, "L", ppoForward(logits, r, clip), hand.NewMatrix(1, 1, -limit))
	}
}

// The hidden thoughts below consist of one token and end with another; no visible token equals either.
const thought, answer = 10, 0

// Section 2.6 of S. Diab: only the visible tokens are graded. The targets of thoughts are ignored, and Δ at their
// logits is exactly 0. Their embedding still learns, but only through the attention of later tokens, because nothing is
// graded at the places of thoughts.
func TestI54ThoughtsAreNotGraded(t *testing.T) {
	c := gpt.Shakespeare()
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd, c.Head = 6, 11, 2, 2, 8, "linear"
	for _, f := range forms() {
		m, err := gpt.New(f.graph(1, 0), c, 2)
		if err != nil {
			t.Fatal(err)
		}
		copy(m.Tokens.Ints(), []int{3, thought, thought, answer, 4, 1, 9, 2, thought, thought, thought, answer})
		copy(m.Targets.Ints(), []int{thought, thought, answer, 4, 1, 5, 2, thought, thought, thought, answer, 6})
		for i, target := range m.Targets.Ints() {
			if target == thought || target == answer {
				m.Targets.Ints()[i] = text.Ignore
			}
		}
		for _, p := range m.Params() { // so that the attention is not uniform
			rows, cols := matrixShape(p.Tensor().Shape)
			fill(p, fixture.Random(p.Name(), rows, cols))
		}
		wte := m.Params()[0]
		p, err := graph.Compile(m.Loss, m.Logits, wte)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		for i, target := range m.Targets.Ints() {
			row := p.Grad(m.Logits).Row(i)
			var sum, size float64
			for _, v := range row.Floats() {
				sum, size = sum+v, size+math.Abs(v)
			}
			if (target == text.Ignore) != (size == 0) {
				t.Errorf("%s: target %d at %d, Δ at the logits %v", f.name, target, i, row.Floats())
			}
			if !(math.Abs(sum) <= 1e-7) {
				t.Errorf("%s: Δ at %d sums to %v", f.name, i, sum)
			}
		}
		learns := 0.0
		for _, v := range p.Grad(wte).Row(thought).Floats() {
			learns += v * v
		}
		if learns = math.Sqrt(learns); !(learns > 1e-3) {
			t.Errorf("%s: the embedding of thoughts has a gradient of %v, want one", f.name, learns)
		}
		t.Logf("%s: ‖∂wte[thought]‖ = %.3f", f.name, learns)
	}
}
