package papers

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// Five steps of SGD, entry by entry. The momentum is not carried along but computed from all gradients so far.
func TestI50SGDTrajectory(t *testing.T) {
	start, g := fixture.Random("w", 3, 4), differing(1)
	for _, c := range []hand.SGD{{Rate: 0.05}, {Rate: 0.05, Decay: 0.1}, {Rate: 0.05, Momentum: 0.9, Decay: 0.1}} {
		want := hand.Zeros[float64](5*3, 4)
		for at, w := range start.Data {
			for step := 1; step <= 5; step++ {
				m := 0.0
				for i := 1; i <= step; i++ {
					m += math.Pow(c.Momentum, float64(step-i)) * g(i).Data[at]
				}
				w -= c.Rate*m + c.Rate*c.Decay*w
				want.Data[(step-1)*len(start.Data)+at] = w - start.Data[at]
			}
		}
		by := func(_ int, w, g, m, v matrix) (w1, m1, v1 matrix) {
			w1, m1 = hand.SGDUpdate(c, w, g, m)
			return w1, m1, v
		}
		near(t, fmt.Sprintf("%+v", c), update(by).path(start, g), want)
	}
}

// Without a gradient both optimizers leave θ(1 − ηλ). AdamW's first step is η against the sign of the gradient, for any
// size of it, plus the decay; SGD's is η times the gradient.
func TestI50FirstStep(t *testing.T) {
	w, g, zero := fixture.Random("w", 3, 4), fixture.Random("g", 3, 4).Scale(1e3), hand.Zeros[float64](3, 4)
	c, s := adamw(), hand.SGD{Rate: 0.01, Momentum: 0.9, Decay: 0.1}
	decayed := w.Scale(1 - c.Rate*c.Decay)
	still, _, _ := hand.AdamWUpdate(c, 1, w, zero, zero, zero)
	near(t, "AdamW, g = 0", still, decayed)
	still, _ = hand.SGDUpdate(s, w, zero, zero)
	near(t, "SGD, g = 0", still, decayed)
	signs := each(g, func(x float64) float64 { return math.Copysign(1, x) })
	c.Eps = 0
	first, _, _ := hand.AdamWUpdate(c, 1, w, g, zero, zero)
	near(t, "AdamW, first step", first, decayed.Sub(signs.Scale(c.Rate)))
	first, _ = hand.SGDUpdate(s, w, g, zero)
	near(t, "SGD, first step", first, decayed.Sub(g.Scale(s.Rate)))
}

// adamw returns GPT-2's usual hyperparameters, with a decay large enough to matter.
func adamw() hand.AdamW {
	return hand.AdamW{Rate: 0.01, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Decay: 0.1}
}

// update is one step of an optimizer with two moments.
type update func(t int, w, g, m, v matrix) (w1, m1, v1 matrix)

func stepOf(c hand.AdamW) update {
	return func(t int, w, g, m, v matrix) (w1, m1, v1 matrix) { return hand.AdamWUpdate(c, t, w, g, m, v) }
}

// path takes five steps from w with the gradient g(t) in step t and returns the distance of each from w.
func (f update) path(w matrix, g func(t int) matrix) matrix {
	at, m, v := w, hand.Zeros[float64](w.Rows, w.Cols), hand.Zeros[float64](w.Rows, w.Cols)
	var out []matrix
	for t := 1; t <= 5; t++ {
		at, m, v = f(t, at, g(t), m, v)
		out = append(out, at.Sub(w))
	}
	return hand.JoinTokens(out...)
}

// differing returns other gradients in every step, in ± half the size.
func differing(size float64) func(t int) matrix {
	return func(t int) matrix { return fixture.Random(fmt.Sprint("gradient ", t), 3, 4).Scale(size) }
}

func constant(g matrix) func(t int) matrix {
	return func(int) matrix { return g }
}

// Five steps, entry by entry. The moments are not carried along but computed from all gradients so far: m̂ is their
// average with weights β₁^(t−i), and v̂ the average of their squares.
func TestAdamWTrajectory(t *testing.T) {
	c, start, g := adamw(), fixture.Random("w", 3, 4), differing(1)
	want := hand.Zeros[float64](5*3, 4)
	for at, w := range start.Data {
		for step := 1; step <= 5; step++ {
			var m, v, weights1, weights2 float64
			for i := 1; i <= step; i++ {
				gi, b1, b2 := g(i).Data[at], math.Pow(c.Beta1, float64(step-i)), math.Pow(c.Beta2, float64(step-i))
				m, weights1 = m+b1*gi, weights1+b1
				v, weights2 = v+b2*gi*gi, weights2+b2
			}
			w -= c.Rate * (m/weights1/(math.Sqrt(v/weights2)+c.Eps) + c.Decay*w)
			want.Data[(step-1)*len(start.Data)+at] = w - start.Data[at]
		}
	}
	near(t, "w", stepOf(c).path(start, g), want)
}

// Every step with a constant gradient has size η against its sign, plus the decay. Without a gradient only the decay
// remains.
func TestAdamWConstantGradient(t *testing.T) {
	c, w, g := adamw(), fixture.Random("w", 3, 4), fixture.Random("g", 3, 4)
	signs := each(g, func(x float64) float64 { return x / (math.Abs(x) + c.Eps) })
	bySign := func(_ int, w, g, m, v matrix) (w1, m1, v1 matrix) {
		return w.Scale(1 - c.Rate*c.Decay).Sub(signs.Scale(c.Rate)), m, v
	}
	near(t, "w", stepOf(c).path(w, constant(g)), update(bySign).path(w, constant(g)))

	nothing := stepOf(c).path(w, constant(hand.Zeros[float64](3, 4)))
	near(t, "w without a gradient", nothing.Tokens(12, 15), w.Scale(math.Pow(1-c.Rate*c.Decay, 5)-1))
}

// Section 2.5 of S. Diab does not define m̂ and v̂ (erratum D10). Possible misreadings are: the moments without their
// corrections, with which the first step is (1−β₁)/√(1−β₂) = 3.16 times as long; an ε inside the root, which shows for
// gradients about √ε; a decay as part of the gradient (the L2 penalty), which 1/√v̂ then blows up where gradients are
// small.
func TestDiabAdamW(t *testing.T) {
	c := adamw()
	plain := c
	plain.Decay = 0
	w, g := fixture.Random("w", 3, 4), differing(1)

	uncorrected := func(_ int, w, g, m, v matrix) (w1, m1, v1 matrix) {
		m1 = m.Scale(c.Beta1).Add(g.Scale(1 - c.Beta1))
		v1 = v.Scale(c.Beta2).Add(g.Square().Scale(1 - c.Beta2))
		return w.Sub(m1.Div(v1.Sqrt().Shift(c.Eps)).Scale(c.Rate)), m1, v1
	}
	long, right := update(uncorrected).path(w, g).Tokens(0, 3), stepOf(plain).path(w, g).Tokens(0, 3)
	if got, want := frobenius(long)/frobenius(right), 0.1/math.Sqrt(0.001); !(math.Abs(got-want) <= 1e-5) {
		t.Errorf("first step without corrections: got %v times the right one, want %v", got, want)
	}

	inside := func(t int, w, g, m, v matrix) (w1, m1, v1 matrix) {
		_, m1, v1 = hand.AdamWUpdate(c, t, w, g, m, v)
		mhat, vhat := m1.Scale(1/(1-math.Pow(c.Beta1, float64(t)))), v1.Scale(1/(1-math.Pow(c.Beta2, float64(t))))
		step := mhat.Div(vhat.Shift(c.Eps).Sqrt()).Add(w.Scale(c.Decay))
		return w.Sub(step.Scale(c.Rate)), m1, v1
	}
	g = differing(1e-3)
	wrongBy(t, "ε inside the root", update(inside).path(w, g), stepOf(c).path(w, g), 0.0917)

	coupled := func(t int, w, g, m, v matrix) (w1, m1, v1 matrix) {
		return hand.AdamWUpdate(plain, t, w, g.Add(w.Scale(c.Decay)), m, v)
	}
	g = differing(0.02)
	wrongBy(t, "decay in the gradient", update(coupled).path(w, g), stepOf(c).path(w, g), 1.39)
}

// A step 0 would divide by zero, and moments of another parameter do not fit. Both are errors that are carried on.
func TestAdamWErrors(t *testing.T) {
	x, c := hand.Zeros[float64](3, 4), adamw()
	for want, step := range map[string]func() (w, m, v matrix){
		"adamw: step 0, want 1 or more": func() (w, m, v matrix) { return hand.AdamWUpdate(c, 0, x, x, x, x) },
		"add (2, 4), (3, 4)": func() (w, m, v matrix) {
			return hand.AdamWUpdate(c, 1, x, x, hand.Zeros[float64](2, 4), hand.Zeros[float64](2, 4))
		},
	} {
		w, m, v := step()
		for _, got := range []matrix{w, m, v} {
			if err := got.Add(x).Err; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %v, want %s", err, want)
			}
		}
	}
}
