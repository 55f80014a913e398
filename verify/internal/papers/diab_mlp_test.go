package papers

import (
	"fmt"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// (20) A sum passes ∇ unchanged to both of its terms. The section calls the incoming ∇ ∇X⁽ˡ⁺¹⁾; it is ∇X⁽ˡ⁾, ∇ at the
// output of the block (erratum D2b).
func TestDiabEq20(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		incoming := s.nabla(t, fmt.Sprintf("X(%d)", l))
		near(t, in("∇Xffn"), incoming, s.nabla(t, in("Xffn")))
		near(t, in("∇res Xadd1"), incoming, s.nabla(t, in("mid.res")))
	})
	wrongBy(t, "∇X(2) for ∇X(1)", s.nabla(t, "X(2)"), s.nabla(t, "1 Xffn"), 0.341)
}

// (21) Through the second linear layer of the feed-forward network: ∇W₂ = Hᵗ∇, ∇β₂ = Σᵢ∇ᵢ, ∇H = ∇W₂ᵗ.
func TestDiabEq21(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		s.affine(t, layer+"mlp.c_proj", in("ffnH"), s.nabla(t, in("Xffn")))
	})
}

// affine checks the three gradients of a linear layer and of its input, as printed and by hand, given ∇ at the output.
func (s study) affine(t *testing.T, layer, input string, incoming matrix) {
	t.Helper()
	x, w := s.a[input], s.Parameters[layer+".weight"]
	wantX, wantW, wantB := s.nabla(t, input), s.nabla(t, layer+".weight"), s.nabla(t, layer+".bias")
	near(t, layer+" ∇W", x.Transpose().MatMul(incoming), wantW)
	near(t, layer+" ∇β", sumRows(incoming), wantB)
	near(t, layer+" ∇x", incoming.MatMul(w.Transpose()), wantX)
	dx, dw, db := linearBackward(x, w, incoming)
	near(t, layer+" ∇W by hand", dw, wantW)
	near(t, layer+" ∇β by hand", db, wantB)
	near(t, layer+" ∇x by hand", dx, wantX)
}

// (22) Through the GELU: ∇A = ∇H ⊙ GELU'(A). The paper omits the derivative, and there are several GELUs (erratum D7);
// for xΦ(x) it is Φ(x) + xφ(x).
func TestDiabEq22(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		incoming, want := s.nabla(t, in("ffnH")), s.nabla(t, in("ffnA"))
		slope := each(s.a[in("ffnA")], func(x float64) float64 {
			return math.Erfc(-x/math.Sqrt2)/2 + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
		})
		near(t, in("∇A"), incoming.Mul(slope), want)
		near(t, in("∇A by hand"), geluBackward(s.a[in("ffnA")], incoming), want)
	})
}

// The GELUs of 2.3, exact and approximated, and the derivatives that the paper omits (erratum D7). They differ by
// 4.7e-4 at ±2.70, the derivatives by 8.7e-4 at ±2.02: the derivative of one with the values of the other is wrong by
// more than any rounding.
func TestDiabGELU(t *testing.T) {
	const points = 12001
	x := hand.Zeros[float64](1, points)
	for i := range x.Data {
		x.Data[i] = float64(i-points/2) / 1000 // ±6
	}
	on := func(name string, f func(complexMatrix) complexMatrix, backward matrix) matrix {
		z := lift(x)
		for i := range z.Data {
			z.Data[i] += complex(0, tiny)
		}
		want := hand.Zeros[float64](1, points)
		for i, y := range f(z).Data {
			want.Data[i] = imag(y) / tiny
		}
		near(t, name, backward, want)
		return want
	}
	exact := on("GELU'", geluForward[complex128], geluBackward(x, ones(1, points)))
	tanh := on("tanh GELU'", geluTanhForward[complex128], geluTanhBackward(x, ones(1, points)))
	for _, test := range []struct {
		what       string
		difference matrix
		most, at   float64
	}{
		{"values", geluForward(x).Sub(geluTanhForward(x)), 4.7e-4, 2.70},
		{"derivatives", exact.Sub(tanh), 8.7e-4, 2.02},
	} {
		most, at := 0.0, 0.0
		for i, v := range test.difference.Data {
			if math.Abs(v) > most {
				most, at = math.Abs(v), math.Abs(x.Data[i])
			}
		}
		if !(math.Abs(most-test.most) <= 0.05e-4) || !(math.Abs(at-test.at) <= 0.01) {
			t.Errorf("%s: got %.2e apart at ±%.3f, want %.1e at ±%.2f", test.what, most, at, test.most, test.at)
		}
	}
	near(t, "f(x) − f(−x)", geluForward(x).Sub(geluForward(x.Scale(-1))), x)
}

// (23) Through the first linear layer of the feed-forward network, as (21).
func TestDiabEq23(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		s.affine(t, layer+"mlp.c_fc", in("Xln2"), s.nabla(t, in("ffnA")))
	})
}

// (24) Gain and shift of the second LayerNorm, as (18), with the input that it has in this block.
func TestDiabEq24(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		s.gainAndShift(t, layer+"ln_2", in("Xadd1"), s.nabla(t, in("Xln2")))
	})
}

// Section 5.3.2 derives ∂x̂_j/∂x_i = (δ_ij − 1/d − x̂_i x̂_j/d)/√(σ²+ε) and sums over j. Its first display has a
// product of derivatives for the same j and no sum, as if μ and σ did not depend on all features of a token (erratum
// D1).
func TestDiabLayerNormJacobian(t *testing.T) {
	const d, eps = 5, 1e-5
	x, gain := fixture.Random("x", 1, d).Scale(4), fixture.Random("w", 1, d).Shift(1)
	delta := fixture.Random("delta", 1, d)
	xhat, root := hat(x.Data, eps)
	printed, want := hand.Zeros[float64](d, d), hand.Zeros[float64](d, d) // j down, i across
	for j := range d {
		for i := range d {
			printed.Data[j*d+i] = (-1 - xhat[j]*xhat[i]) / d / root
			if i == j {
				printed.Data[j*d+i] += 1 / root
			}
		}
		unit := permutation(natural(d)...).Tokens(j, j+1)
		row := complexStep(t, func(z complexParameters) complexMatrix {
			return layerNormForward(z["x"], lift(ones(1, d)), complexMatrix{}, eps)
		}, parameters{"x": x}, unit)["x"]
		copy(want.Data[j*d:], row.Data)
	}
	near(t, "∂x̂_j/∂x_i", printed, want)

	right := complexStep(t, func(z complexParameters) complexMatrix {
		return layerNormForward(z["x"], lift(gain), complexMatrix{}, eps)
	}, parameters{"x": x}, delta)["x"]
	g := delta.Mul(gain)
	near(t, "Σ_j g_j ∂x̂_j/∂x_i", g.MatMul(printed), right)
	wrongBy(t, "g_j ∂x̂_j/∂x_j alone", g.Mul(diagonal(printed)), right, 0.468)
}

// (25) The ∇ around the LayerNorm and the network and the ∇ through them are added. The part through them is the
// unnumbered last line of 5.3.2.
func TestDiabEq25(t *testing.T) {
	s := newStudy(t)
	s.blocks(func(l int, in func(string) string, layer string, formula blockActivations) {
		around, through, want := s.nabla(t, in("mid.res")), s.nabla(t, in("mid.ln")), s.nabla(t, in("Xadd1"))
		s.throughNorm(t, layer+"ln_2", in("Xadd1"), s.nabla(t, in("Xln2")), through)
		near(t, in("∇Xadd1"), around.Add(through), want)
		near(t, in("∇Xadd1 by hand"), residualBackward(around, through), want)
		near(t, in("∇Xadd1 of the model"), s.delta(t, layer+"attn"), want)
	})
}

// delta returns the Δ of the formulas by hand at a place.
func (s study) delta(t *testing.T, name string) matrix {
	t.Helper()
	for _, d := range s.g.Deltas {
		if d.Name == name {
			return d.Value
		}
	}
	t.Fatalf("no Δ at %s", name)
	return matrix{}
}
