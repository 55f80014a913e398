package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// (15) The mean of the losses has ∇ = (P − Y)/n at the logits, Y one-hot.
func TestDiabEq15(t *testing.T) {
	s := newStudy(t)
	want := s.nabla(t, "L")
	printed := s.a["P"].Sub(oneHotRows(s.Targets, fixture.Vocabulary)).Scale(1 / float64(s.Context))
	near(t, "∇L", printed, want)
	near(t, "∇L by hand", crossEntropyBackward(s.a["L"], s.Targets, hand.Mean), want)
	vanishes(t, "rows of ∇L", want.SumFeatures())
}

// (15) refers to (13) for P but is right for T = 1 only: with the temperature inside the loss there is a factor 1/T
// (erratum D5).
func TestDiabTemperature(t *testing.T) {
	s := newStudy(t)
	const T = 0.7
	logits := s.a["L"]
	want := complexStep(t, func(z complexParameters) complexMatrix {
		return crossEntropyForward(z["L"].Scale(1/T), s.Targets, hand.Mean)
	}, parameters{"L": logits}, ones(1, 1))["L"]
	printed := logits.Scale(1 / T).Softmax().Sub(oneHotRows(s.Targets, fixture.Vocabulary)).Scale(1 / float64(s.Context))
	wrongBy(t, "∇L as printed, T = 0.7", printed, want, 0.3)
	near(t, "∇L with 1/T", printed.Scale(1/T), want)
	near(t, "∇L by hand", crossEntropyBackward(logits.Scale(1/T), s.Targets, hand.Mean).Scale(1/T), want)
}

// The loss of 2.5 divides by n, and 2.1 pads the input to the length n. Padding has no right answer: it must count
// neither in the sum nor in its divisor (erratum D6).
func TestDiabLossOverPadding(t *testing.T) {
	s := newStudy(t)
	logits, targets := s.a["L"], append(append([]int{}, s.Targets[:3]...), hand.Ignore, hand.Ignore, hand.Ignore)
	nll := 0.0
	for i, target := range targets[:3] {
		nll -= math.Log(s.a["P"].At(i, target))
	}
	right := hand.NewMatrix(1, 1, nll/3)
	near(t, "loss", crossEntropyForward(logits, targets, hand.Mean), right)
	wrongBy(t, "loss, divided by n", hand.NewMatrix(1, 1, nll/6), right, 0.5)

	want := complexStep(t, func(z complexParameters) complexMatrix {
		return z["L"].Tokens(0, 3).Softmax().Mul(hand.Lift[complex128](oneHotRows(targets[:3], fixture.Vocabulary))).SumFeatures().Log()
	}, parameters{"L": logits}, ones(3, 1).Scale(-1./3))["L"]
	near(t, "∇L", crossEntropyBackward(logits, targets, hand.Mean), want)
	wrongBy(t, "∇L, divided by n", crossEntropyBackward(logits, targets, hand.Sum).Scale(1./6), want, 0.5)
	padded := append(append([]int{}, s.Targets[:3]...), 0, 0, 0) // 0 is the paper's padding
	wrongBy(t, "∇L, padding to be predicted as well", crossEntropyBackward(logits, padded, hand.Mean), want, 0.729)
}

// (16) The head is a linear layer: ∇W = Xᵗ∇L and ∇X = ∇L Wᵗ.
func TestDiabEq16(t *testing.T) {
	s := newStudy(t)
	x, w, delta := s.a["Xfinal_ln"], s.Parameters["lm_head.weight"], s.nabla(t, "L")
	wantW, wantX := s.nabla(t, "lm_head.weight"), s.nabla(t, "Xfinal_ln")
	near(t, "∇W_lm", x.Transpose().MatMul(delta), wantW)
	near(t, "∇Xfinal_ln", delta.MatMul(w.Transpose()), wantX)
	dx, dw, _ := linearBackward(x, w, delta)
	near(t, "∇W_lm by hand", dw, wantW)
	near(t, "∇Xfinal_ln by hand", dx, wantX)
}

// (17) The bias of the head, which is added to every row, has the sum of the rows of ∇L.
func TestDiabEq17(t *testing.T) {
	s := newStudy(t)
	near(t, "∇β_lm", sumRows(s.nabla(t, "L")), s.nabla(t, "lm_head.bias"))
	near(t, "∇β_lm by hand", s.g.Parameters["lm_head.bias"], s.nabla(t, "lm_head.bias"))
}

// (18) Gain and shift of the last LayerNorm: the sums of the rows of ∇ at its output, with and without the factor x̂.
func TestDiabEq18(t *testing.T) {
	s := newStudy(t)
	s.gainAndShift(t, "ln_f", "X(2)", s.nabla(t, "Xfinal_ln"))
}

// (19) The last LayerNorm's ∇ at its input, row by row.
func TestDiabEq19(t *testing.T) {
	s := newStudy(t)
	s.throughNorm(t, "ln_f", "X(2)", s.nabla(t, "Xfinal_ln"), s.nabla(t, "X(2)"))
}

// gainAndShift checks (18), (24) and (35) for the LayerNorm of that name and input, given ∇ at its output.
func (s study) gainAndShift(t *testing.T, name, input string, incoming matrix) {
	t.Helper()
	gain, shift := printedGain(s.a[input], incoming, s.Eps), sumRows(incoming)
	wantGain, wantShift := s.nabla(t, name+".weight"), s.nabla(t, name+".bias")
	near(t, name+" ∇γ", gain, wantGain)
	near(t, name+" ∇β", shift, wantShift)
	_, dw, db := layerNormBackward(s.a[input], s.Parameters[name+".weight"], incoming, s.Eps)
	near(t, name+" ∇γ by hand", dw, wantGain)
	near(t, name+" ∇β by hand", db, wantShift)
}

// throughNorm checks (19), the last line of 5.3.2 and (36) against ∇ at the input.
func (s study) throughNorm(t *testing.T, name, input string, incoming, want matrix) {
	t.Helper()
	near(t, name+" ∇x", printedNorm(s.a[input], s.Parameters[name+".weight"], incoming, s.Eps), want)
	dx, _, _ := layerNormBackward(s.a[input], s.Parameters[name+".weight"], incoming, s.Eps)
	near(t, name+" ∇x by hand", dx, want)
}

// printedGain returns Σᵢ ∇x̃ᵢ ⊙ x̂ᵢ.
func printedGain(x, incoming matrix, eps float64) matrix {
	out := hand.Zeros[float64](1, x.Cols)
	for i := range x.Rows {
		xhat, _ := hat(x.Tokens(i, i+1).Data, eps)
		for j := range xhat {
			out.Data[j] += incoming.At(i, j) * xhat[j]
		}
	}
	return out
}

// printedNorm returns, for each row and with g = ∇x̃ ⊙ γ, 1/√(σ²+ε) · [g − (1/d Σ g_j) 1 − x̂ ⊙ (1/d Σ g_j x̂_j) 1].
func printedNorm(x, gain, incoming matrix, eps float64) matrix {
	out := hand.Zeros[float64](x.Rows, x.Cols)
	d := float64(x.Cols)
	for i := range x.Rows {
		xhat, root := hat(x.Tokens(i, i+1).Data, eps)
		g := incoming.Tokens(i, i+1).Mul(gain).Data
		sum, sumHat := 0.0, 0.0
		for j := range g {
			sum += g[j]
			sumHat += g[j] * xhat[j]
		}
		for j := range g {
			out.Data[i*x.Cols+j] = (g[j] - sum/d - xhat[j]*sumHat/d) / root
		}
	}
	return out
}

// hat returns x̂ of a token and its divisor √(σ²+ε).
func hat(x []float64, eps float64) (xhat []float64, root float64) {
	mu, variance := moments(x)
	root = math.Sqrt(variance + eps)
	for _, v := range x {
		xhat = append(xhat, (v-mu)/root)
	}
	return xhat, root
}
