package hand_test

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// Without ε the norm does not depend on a token's size: for c > 0 the norm of c·x is that of x, and Δ comes back c
// times smaller, with no part along x. With ε the share ε/rms² of the part along x̂ remains.
func TestI64Scale(t *testing.T) {
	x, w, delta := fixture.Random("x", 5, 8), fixture.Random("w", 1, 8).Shift(1), fixture.Random("Δ", 5, 8)
	exact, l := hand.RMSNorm[float64]{Weight: w}, hand.RMSNorm[float64]{Weight: w, Eps: 0.01}
	equal(t, "y of 3x", exact.Forward(x.Scale(3)), exact.Forward(x))
	dx, g := exact.Backward(x, delta)
	far, farG := exact.Backward(x.Scale(3), delta)
	equal(t, "Δ of 3x", far.Scale(3), dx)
	equal(t, "∂w of 3x", farG[0].Value, g[0].Value)
	equal(t, "Δ along x", dx.Mul(x).SumFeatures().Shift(1), hand.Zeros[float64](5, 1).Shift(1))

	dx, _ = l.Backward(x, delta)
	square := x.Square().Mean().Shift(0.01) // rms²
	came := delta.Mul(w).Mul(x).SumFeatures().Div(square.Sqrt())
	equal(t, "Δ along x with ε", dx.Mul(x).SumFeatures(), came.Div(square).Scale(0.01))
}

// Without biases the layer is linear in w_u and in w_d, so by Euler ⟨∂w_u, w_u⟩ = ⟨∂w_d, w_d⟩ = ⟨Δ, y⟩; and it is
// bilinear, except for the gate's bend: ⟨Δx, x⟩ = ⟨∂w_g, w_g⟩ + ⟨∂w_u, w_u⟩.
func TestI65Linear(t *testing.T) {
	p := hand.Parameters[float64]{
		"c_gate.weight": fixture.Random("w_g", 5, 7), "c_fc.weight": fixture.Random("w_u", 5, 7), "c_proj.weight": fixture.Random("w_d", 7, 5),
	}
	l := hand.Site[float64]{Parameters: p}.SwiGLU()
	x, delta := fixture.Random("x", 4, 5).Scale(3), fixture.Random("Δ", 4, 5)
	dx, gradients := l.Backward(x, delta)
	dot := func(a, b hand.Matrix[float64]) float64 { return a.Mul(b).SumTokens().SumFeatures().At(0, 0) }
	of := map[string]float64{}
	for name, g := range gradients.Parameters() {
		of[name] = dot(g, p[name])
	}
	want := dot(delta, l.Forward(x))
	for name, got := range map[string]float64{
		"w_u": of["c_fc.weight"], "w_d": of["c_proj.weight"], "x": dot(dx, x) - of["c_gate.weight"],
	} {
		if !(math.Abs(got-want) <= 1e-14) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// The Δ that enters a gated MLP is a sum over two ways, and its equation states that in both kinds of block.
func TestDeltaIntoAGatedMLP(t *testing.T) {
	x, norm := fixture.Random("x", 4, 5), hand.RMSNorm[float64]{Weight: fixture.Random("w", 1, 5)}
	for want, mlp := range map[string]hand.Layer[float64]{
		"Δ_g w_gᵗ + Δ_u w_uᵗ": hand.SwiGLU[float64]{Gate: norm, Fc: norm, Proj: norm},
		"Δ₇ w₆ᵗ":              hand.MLP[float64]{Fc: norm, Act: norm, Proj: norm},
	} {
		_, pre := hand.Block[float64]{Norm1: norm, Attention: norm, Norm2: norm, MLP: mlp}.Backward(x, x)
		_, post := hand.PostNormBlock[float64]{Norm1: norm, Attention: norm, Norm2: norm, MLP: mlp}.Backward(x, x)
		for _, c := range []struct {
			of         hand.Gradients[float64]
			name, want string
		}{{pre, "ln_2", "Δ₆ = " + want}, {post, "ln_1", "Δ₅ = LNᵇ(Δ₁₀) + " + want}} {
			i := slices.IndexFunc(c.of, func(g hand.Gradient[float64]) bool { return g.Delta && g.Name == c.name })
			if i < 0 || c.of[i].Equation != c.want {
				t.Errorf("%T: got %+v, want %s", mlp, c.of, c.want)
			}
		}
	}
}

func equal(t *testing.T, what string, got, want hand.Matrix[float64]) {
	t.Helper()
	if got.Err != nil || len(got.Data) != len(want.Data) {
		t.Fatalf("%s: got (%d, %d), %v, want (%d, %d)", what, got.Rows, got.Cols, got.Err, want.Rows, want.Cols)
	}
	for i, w := range want.Data {
		if !(math.Abs(got.Data[i]-w) <= 1e-14*max(1, math.Abs(w))) {
			t.Errorf("%s, entry %d: got %v, want %v", what, i, got.Data[i], w)
		}
	}
}

// If e^x overflows, the activations of the logistic function, their derivatives and the loss built of them have their
// limits as values: no formula overflows.
func TestLogisticFarFromZero(t *testing.T) {
	x, one := hand.NewMatrix(1, 3, -1000, 0, 1000.), hand.NewMatrix(1, 3, 1, 1, 1.)
	for name, c := range map[string]struct {
		layer    hand.Layer[float64]
		y, slope []float64
	}{
		"sigmoid":              {hand.Sigmoid[float64]{}, []float64{0, 0.5, 1}, []float64{0, 0.25, 0}},
		"silu":                 {hand.SiLU[float64]{}, []float64{0, 0, 1000}, []float64{0, 0.5, 1}},
		"softplus":             {hand.Softplus[float64]{}, []float64{0, math.Ln2, 1000}, []float64{0, 0.5, 1}},
		"binary cross entropy": {hand.BinaryCrossEntropy[float64]{Y: one}, []float64{(1000 + math.Ln2) / 3}, []float64{-1. / 3, -0.5 / 3, 0}},
	} {
		y := c.layer.Forward(x)
		dx, _ := c.layer.Backward(x, hand.NewMatrix(1, len(c.y), one.Data[:len(c.y)]...))
		for what, pair := range map[string][2][]float64{"y": {y.Data, c.y}, "Δx": {dx.Data, c.slope}} {
			for i, want := range pair[1] {
				if got := pair[0][i]; !(math.Abs(got-want) <= 1e-15*max(1, want)) {
					t.Errorf("%s: %s[%d] is %v, want %v", name, what, i, got, want)
				}
			}
		}
	}
}
