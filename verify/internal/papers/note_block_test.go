package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// (27) Mean and deviation run over the d features of one token, and the deviation is that of the population. (The μ
// under the root is the estimate μ̂.) Those of one token do not depend on the others.
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
	return linearForward(geluForward(linearForward(x, hand.Lift[T](fixture.Random("w1", 8, 13)), hand.Matrix[T]{})), hand.Lift[T](fixture.Random("w2", 13, 8)), hand.Matrix[T]{})
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
