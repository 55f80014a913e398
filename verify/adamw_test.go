package verify

import (
	"math"
	"strings"
	"testing"
)

// betas are GPT-2's usual numbers, with a decay that shows.
var betas = AdamW{Rate: 0.01, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Decay: 0.1}

// train takes steps with the given update and the gradient g(t) of step t, and returns
// the weights after each.
func train(w Matrix[float64], steps int, g func(t int) Matrix[float64],
	update func(t int, w, g, m, v Matrix[float64]) (w1, m1, v1 Matrix[float64])) Matrix[float64] {
	m, v := Zeros[float64](w.Rows, w.Cols), Zeros[float64](w.Rows, w.Cols)
	var path []Matrix[float64]
	for t := 1; t <= steps; t++ {
		w, m, v = update(t, w, g(t), m, v)
		path = append(path, w)
	}
	return JoinTokens(path...)
}

func (c AdamW) update(t int, w, g, m, v Matrix[float64]) (w1, m1, v1 Matrix[float64]) {
	return AdamWForward(c, t, w, g, m, v)
}

// gradients are different ones in every step, of the size given.
func gradients(size float64) func(t int) Matrix[float64] {
	return func(t int) Matrix[float64] { return Random("gradient "+strings.Repeat("I", t), 3, 4).Scale(size) }
}

// Five steps, entry by entry, with the moments not carried along but summed up from all
// the gradients so far: m̂ is their average with weights β₁^(t−i), and v̂ that of their squares.
func TestAdamWTrajectory(t *testing.T) {
	const steps = 5
	start, g := Random("w", 3, 4), gradients(1)
	want := Zeros[float64](3*steps, 4)
	for at, w := range start.Data {
		for step := 1; step <= steps; step++ {
			var m, v, weights1, weights2 float64
			for i := 1; i <= step; i++ {
				gi, b1, b2 := g(i).Data[at], math.Pow(betas.Beta1, float64(step-i)), math.Pow(betas.Beta2, float64(step-i))
				m, weights1 = m+b1*gi, weights1+b1
				v, weights2 = v+b2*gi*gi, weights2+b2
			}
			w -= betas.Rate * (m/weights1/(math.Sqrt(v/weights2)+betas.Eps) + betas.Decay*w)
			want.Data[(step-1)*len(start.Data)+at] = w
		}
	}
	near(t, "w", train(start, steps, g, betas.update), want)
}

// The first step is one of size η against the sign of each gradient, besides the decay, and so is
// every step of a constant gradient; without a gradient the decay alone is left.
func TestAdamWConstantGradient(t *testing.T) {
	w, g := Random("w", 3, 4), Random("g", 3, 4)
	signs := g.each(func(x float64) float64 { return x / (math.Abs(x) + betas.Eps) })
	want := train(w, 4, func(int) Matrix[float64] { return g }, func(t int, w, g, m, v Matrix[float64]) (w1, m1, v1 Matrix[float64]) {
		return w.Scale(1 - betas.Rate*betas.Decay).Sub(signs.Scale(betas.Rate)), m, v
	})
	near(t, "w", train(w, 4, func(int) Matrix[float64] { return g }, betas.update), want)

	nothing := func(int) Matrix[float64] { return Zeros[float64](3, 4) }
	near(t, "w without a gradient", train(w, 4, nothing, betas.update).Tokens(9, 12), w.Scale(math.Pow(1-betas.Rate*betas.Decay, 4)))
}

// Section 2.5 of S. Diab leaves m̂ and v̂ to the reader (erratum D10). What one may take
// them for: the moments without their corrections, with which the first step is
// (1−β₁)/√(1−β₂) = 3.16 times as long; an ε inside the root, which shows for gradients
// near ε; a decay as part of the gradient (the L2 penalty), which the division by √v̂ undoes.
func TestDiabAdamW(t *testing.T) {
	const steps = 5
	w, g := Random("w", 3, 4), gradients(1)
	start := JoinTokens(w, w, w, w, w)
	moved := func(path Matrix[float64]) Matrix[float64] { return path.Sub(start) }
	right := moved(train(w, steps, g, betas.update))

	plain := betas
	plain.Decay = 0
	uncorrected := func(t int, w, g, m, v Matrix[float64]) (w1, m1, v1 Matrix[float64]) {
		m1 = m.Scale(plain.Beta1).Add(g.Scale(1 - plain.Beta1))
		v1 = v.Scale(plain.Beta2).Add(g.Square().Scale(1 - plain.Beta2))
		return w.Sub(m1.Div(v1.Sqrt().Shift(plain.Eps)).Scale(plain.Rate)), m1, v1
	}
	first := train(w, 1, g, plain.update).Sub(w)
	long := train(w, 1, g, uncorrected).Sub(w)
	if got := frobenius(long) / frobenius(first); !(math.Abs(got-0.1/math.Sqrt(0.001)) <= 1e-5) {
		t.Errorf("first step without corrections: got %v times the right one, want 3.16", got)
	}
	wrongBy(t, "first step without corrections", long, first, 2.16)

	inside := func(t int, w, g, m, v Matrix[float64]) (w1, m1, v1 Matrix[float64]) {
		_, m1, v1 = AdamWForward(betas, t, w, g, m, v)
		mhat, vhat := m1.Scale(1/(1-math.Pow(0.9, float64(t)))), v1.Scale(1/(1-math.Pow(0.999, float64(t))))
		step := mhat.Div(vhat.Shift(betas.Eps).Sqrt()).Add(w.Scale(betas.Decay))
		return w.Sub(step.Scale(betas.Rate)), m1, v1
	}
	small := gradients(3e-4)
	wrongBy(t, "ε inside the root", moved(train(w, steps, small, inside)), moved(train(w, steps, small, betas.update)), 0.17)

	coupled := func(t int, w, g, m, v Matrix[float64]) (w1, m1, v1 Matrix[float64]) {
		return AdamWForward(plain, t, w, g.Add(w.Scale(betas.Decay)), m, v)
	}
	wrongBy(t, "decay in the gradient", moved(train(w, steps, g, coupled)), right, 0.2)
	few := gradients(1e-2)
	wrongBy(t, "decay in a small gradient", moved(train(w, steps, few, coupled)), moved(train(w, steps, few, betas.update)), 1.2)
}

// A step 0 would divide by zero: it is an error that travels on.
func TestAdamWError(t *testing.T) {
	x := Zeros[float64](1, 1)
	for _, got := range []Matrix[float64]{train(x, 1, gradients(1), betas.update), func() Matrix[float64] {
		w, _, _ := AdamWForward(betas, 0, x, x, x, x)
		return w.Add(x)
	}()} {
		if got.Err == nil {
			t.Errorf("got %v, want an error", got.Data)
		}
	}
}
