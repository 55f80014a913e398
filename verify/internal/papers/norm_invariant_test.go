package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

const visibleEps = 1e-3 // an ε that is large enough to be seen

// normSubject holds a LayerNorm's data: tokens of different sizes, gains away from 1 and an ε that is large enough to
// matter.
type normSubject struct{ x, w, b, delta, g matrix }

func newNormSubject() normSubject {
	s := normSubject{
		x: fixture.Random("x", 5, 8).Mul(hand.NewMatrix(5, 1, 4, 1, 0.3, 0.1, 9)),
		w: fixture.Random("w", 1, 8).Shift(1),
		b: fixture.Random("b", 1, 8), delta: fixture.Random("delta", 5, 8),
	}
	s.g = s.delta.Mul(s.w)
	return s
}

// spread is the variance of every token.
func (s normSubject) variance() matrix { return s.x.Sub(s.x.Mean()).Square().Mean() }

// LayerNorm removes the mean and almost all of the size: mean ā = 0, mean ā² = σ²/(σ²+ε). So Δ at its input has no part
// along 1, and only the share that ε leaves of the part along ā: Σ_j Δx_j ā_j = (1/ŝ)(Σ_j g_j ā_j) ε/(σ²+ε).
func TestI20NormalisedDirections(t *testing.T) {
	s := newNormSubject()
	one, zero := ones(1, 8), hand.Zeros[float64](1, 8)
	norm := layerNormForward(s.x, one, zero, visibleEps)
	within := s.variance().Div(s.variance().Shift(visibleEps)) // σ²/(σ²+ε)
	vanishes(t, "mean ā", norm.Mean())
	near(t, "mean ā²", norm.Square().Mean(), within)

	dx, _, _ := layerNormBackward(s.x, s.w, s.delta, visibleEps)
	vanishes(t, "Σ Δx", dx.Sum().Mul(s.variance().Shift(visibleEps).Sqrt()))
	left := ones(5, 1).Sub(within)
	near(
		t, "Σ Δx ā", dx.Mul(norm).Sum(),
		s.g.Mul(norm).Sum().Mul(left).Div(s.variance().Shift(visibleEps).Sqrt()),
	)

	exact, _, _ := layerNormBackward(s.x, s.w, s.delta, 0)
	vanishes(
		t, "Σ Δx ā without ε", exact.Mul(layerNormForward(s.x, one, zero, 0)).Sum().Mul(s.variance().Sqrt()),
	)
}

// Without ε the shift and the scale of a token are lost: LN(ax + b) = LN(x) for a > 0, and Δ comes back a times
// smaller.
func TestI20ShiftAndScale(t *testing.T) {
	s := newNormSubject()
	moved := s.x.Scale(5).Shift(-7)
	near(t, "y", layerNormForward(moved, s.w, s.b, 0), layerNormForward(s.x, s.w, s.b, 0))
	far, farW, _ := layerNormBackward(moved, s.w, s.delta, 0)
	dx, dw, _ := layerNormBackward(s.x, s.w, s.delta, 0)
	near(t, "Δx", far.Scale(5), dx)
	near(t, "∂w", farW, dw)
	if d := frobenius(
		layerNormForward(moved, s.w, s.b, visibleEps).Sub(layerNormForward(s.x, s.w, s.b, visibleEps)),
	); !(d > 1e-3) {
		t.Errorf("with ε: got %v apart, want a difference", d)
	}
}

// With ε outside the root, mean x̂² = (σ/(σ+ε))², and the rest along u = (x−μ)/σ is Σ_j Δx_j u_j = (Σ_j g_j u_j)
// ε/(σ+ε)².
func TestI21NormalisedDirections(t *testing.T) {
	s := newNormSubject()
	sigma := s.variance().Sqrt()
	divisor := sigma.Shift(visibleEps)
	norm := layerNormSigmaForward(s.x, ones(1, 8), hand.Zeros[float64](1, 8), visibleEps)
	vanishes(t, "mean x̂", norm.Mean())
	near(t, "mean x̂²", norm.Square().Mean(), sigma.Div(divisor).Square())

	dx, _, _ := layerNormSigmaBackward(s.x, s.w, s.delta, visibleEps)
	unit := s.x.Sub(s.x.Mean()).Div(sigma)
	vanishes(t, "Σ Δx", dx.Sum().Mul(divisor))
	near(t, "Σ Δx u", dx.Mul(unit).Sum(), s.g.Mul(unit).Sum().Scale(visibleEps).Div(divisor.Square()))
}

// Without ε the three norms are the same function.
func TestI21I22WithoutEpsilon(t *testing.T) {
	s := newNormSubject()
	want := layerNormForward(s.x, s.w, s.b, 0)
	wantX, wantW, wantB := layerNormBackward(s.x, s.w, s.delta, 0)
	near(t, "I21 y", layerNormSigmaForward(s.x, s.w, s.b, 0), want)
	dx, dw, db := layerNormSigmaBackward(s.x, s.w, s.delta, 0)
	near(t, "I21 Δx", dx, wantX)
	near(t, "I21 ∂w", dw, wantW)
	near(t, "I21 ∂b", db, wantB)
	near(t, "I22 y", layerNormPlainForward(s.x, 0).Mul(s.w).Add(s.b), want)
	near(t, "I22 Δx", layerNormPlainBackward(s.x, s.g, 0), wantX)
}

// A token of equal features is 0/0 without ε: its row is NaN, and no other row (erratum S7). With ε outside the root
// its value is finite and its gradient NaN (erratum C3). With ε in the root both are finite, and the gradient is g −
// mean g over √ε.
func TestI22ConstantRow(t *testing.T) {
	s := newNormSubject()
	for j := range 8 {
		s.x.Data[8+j] = 2
	}
	nan := func(x matrix) (rows []int) {
		for i := range x.Rows {
			if math.IsNaN(x.Tokens(i, i+1).Sum().Data[0]) {
				rows = append(rows, i)
			}
		}
		return rows
	}
	one := func(rows []int) bool { return len(rows) == 1 && rows[0] == 1 }
	dx, _, _ := layerNormSigmaBackward(s.x, s.w, s.delta, visibleEps)
	for name, x := range map[string]matrix{
		"y without ε": layerNormPlainForward(s.x, 0), "Δx without ε": layerNormPlainBackward(s.x, s.delta, 0),
		"Δx with ε beside σ": dx,
	} {
		if rows := nan(x); !one(rows) {
			t.Errorf("%s: NaN in rows %v, want 1", name, rows)
		}
	}
	finite := layerNormPlainBackward(s.x, s.g, visibleEps).Tokens(1, 2)
	g := s.g.Tokens(1, 2)
	near(t, "Δx with ε in the root", finite, g.Sub(g.Mean()).Scale(1/math.Sqrt(visibleEps)))
	vanishes(t, "y with ε in the root", layerNormPlainForward(s.x, visibleEps).Tokens(1, 2))
}

// With ReLU and no biases the layer is homogeneous: f(cx) = c·f(x) for c > 0, and of degree 1 in each of its weights
// too. So by Euler ⟨Δx, x⟩ = ⟨∂w₁, w₁⟩ = ⟨∂w₂, w₂⟩ = ⟨Δ, y⟩, for 4d hidden features as for the 5d of CS 224n.
func TestI23Homogeneous(t *testing.T) {
	for _, hidden := range []int{4 * 8, 5 * 8} {
		p := mlpParameters[float64]{W1: fixture.Random("w1", 8, hidden), W2: fixture.Random("w2", hidden, 8)}
		x, delta := fixture.Random("x", 5, 8), fixture.Random("delta", 5, 8)
		y := mlpForward(x, p, "relu")
		near(t, "f(3x)", mlpForward(x.Scale(3), p, "relu"), y.Scale(3))
		dx, d := mlpBackward(x, p, "relu", delta)
		for name, got := range map[string]float64{"x": dot(dx, x), "w₁": dot(d.W1, p.W1), "w₂": dot(d.W2, p.W2)} {
			if want := dot(delta, y); !(math.Abs(got-want) <= 1e-13) {
				t.Errorf("%d hidden, %s: got %v, want ⟨Δ, y⟩ = %v", hidden, name, got, want)
			}
		}
	}
}

// Every activation is half of x and something even: f(x) − f(−x) = x, f′(x) + f′(−x) = 1.
func TestI24OddHalf(t *testing.T) {
	x := grid(0.01, 6)
	one := ones(1, x.Cols)
	for name, g := range map[string]string{"gelu": "gelu", "gelu tanh": "gelu_tanh", "relu": "relu"} {
		near(t, name+" f(x) − f(−x)", activationForward(g, x).Sub(activationForward(g, x.Scale(-1))), x)
		near(t, name+" f′(x) + f′(−x)", activationBackward(g, x, one).Add(activationBackward(g, x.Scale(-1), one)), one)
	}
}

// The two GELUs are at most 4.7e-4 apart, at |x| = 2.70, and their derivatives 8.7e-4, at |x| = 2.02.
func TestI24DistanceOfTheGELUs(t *testing.T) {
	x := grid(1e-3, 8)
	one := ones(1, x.Cols)
	for name, c := range map[string]struct {
		apart      matrix
		amount, at float64
	}{
		"value":      {geluForward(x).Sub(geluTanhForward(x)), 4.7e-4, 2.70},
		"derivative": {geluBackward(x, one).Sub(geluTanhBackward(x, one)), 8.7e-4, 2.02},
	} {
		most, at := 0.0, 0.0
		for i, d := range c.apart.Data {
			if math.Abs(d) > most {
				most, at = math.Abs(d), math.Abs(x.Data[i])
			}
		}
		if !(math.Abs(most-c.amount) <= 5e-6 && math.Abs(at-c.at) <= 5e-3) {
			t.Errorf("%s: at most %.3g apart at %.3f, want %.2g at %.2f", name, most, at, c.amount, c.at)
		}
	}
}

// grid returns ±step/2, ±3·step/2, … up to the end: without 0, where ReLU has no derivative.
func grid(step, end float64) (x matrix) {
	for v := step / 2; v < end; v += step {
		x.Data = append(x.Data, v, -v)
	}
	x.Rows, x.Cols = 1, len(x.Data)
	return x
}

// A block does not depend on a number added to all features of a token either: a pre-norm block passes the number
// unchanged, and a post-norm block removes it. So Δ at the input of a pre-norm block sums to what Δ at its output does.
func TestI25CommonShift(t *testing.T) {
	for name, variant := range map[string]fixture.Variant{
		"pre": func(*fixture.Fixture) {}, "post": fixture.WithPostNorm,
	} {
		f := fixture.Generic(variant)
		f.Layers, f.Mask = 1, nil
		x := fixture.Random("x", f.Batch*f.Context, fixture.Features)
		delta := fixture.Random("delta", f.Batch*f.Context, fixture.Features)
		b, err := blockForward(f.Plan, f.Parameters, 0, x)
		if err != nil {
			t.Fatal(err)
		}
		dx, _, err := blockBackward(f.Plan, f.Parameters, 0, x, delta)
		if err != nil {
			t.Fatal(err)
		}
		if name == "pre" {
			near(t, "pre: Σ Δx", dx.Sum(), delta.Sum())
			moved, err := blockForward(f.Plan, f.Parameters, 0, x.Shift(3))
			if err != nil {
				t.Fatal(err)
			}
			near(t, "pre: y", moved.A10, b.A10.Shift(3))
		} else if verify.StructuralZero(dx.Sum().Sub(delta.Sum()), 1) {
			t.Error("post: the sums are those of pre-norm")
		}
	}
}
