package papers

import (
	"math"
	"slices"
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
	vanishes(t, "rows of ∇L", want.Sum())
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
	printed := logits.Scale(1 / T).Softmax().Sub(
		oneHotRows(s.Targets, fixture.Vocabulary),
	).Scale(1 / float64(s.Context))
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
		return z["L"].Tokens(0, 3).Softmax().Mul(
			hand.Lift[complex128](oneHotRows(targets[:3], fixture.Vocabulary)),
		).Sum().Log()
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

// (13) The probabilities of a row are softmax(Lᵢ/T). A higher T flattens them; T → 0 selects the most probable word.
// The loss has T = 1; its gradient (15) otherwise lacks a factor (erratum D5, TestDiabTemperature).
func TestDiabEq13(t *testing.T) {
	s := newStudy(t)
	const T = 0.7
	want := hand.Zeros[float64](s.Context, fixture.Vocabulary)
	for i := range want.Rows {
		sum := 0.0
		for v := range want.Cols {
			sum += math.Exp(s.a["L"].At(i, v) / T)
		}
		for v := range want.Cols {
			want.Data[i*want.Cols+v] = math.Exp(s.a["L"].At(i, v)/T) / sum
		}
	}
	near(t, "P", s.a["L"].Scale(1/T).Softmax(), want)

	last := -1.0
	for _, temperature := range []float64{1e-3, 0.3, 0.7, 1, 2, 50} {
		p := s.a["L"].Scale(1 / temperature).Softmax()
		entropy := -p.Mul(p.Shift(1e-300).Log()).SumTokens().Sum().Data[0]
		if !(entropy > last) {
			t.Errorf("entropy at T = %v: got %v, want more than %v", temperature, entropy, last)
		}
		last = entropy
	}
	if most := float64(s.Context) * math.Log(fixture.Vocabulary); !(last < most && last > 0.99*most) {
		t.Errorf("entropy at T = 50: got %v, want just below %v", last, most)
	}
	likeliest := s.a["L"].Sub(s.a["L"].RowMax()).Shift(1e-300).Step()
	near(t, "P at T → 0", s.a["L"].Scale(1e5).Softmax(), likeliest)
}

// (14) The next word is drawn from the smallest set of words whose probabilities reach p together, renormalised. That
// set is a prefix of the words sorted by probability and contains at least one word. Pₙ is the row of the last word:
// after it a padded input has rows that predict nothing.
func TestDiabEq14(t *testing.T) {
	for p, size := range map[float64]int{0.9: 3, 0.5: 1, 1: 4, 0: 1} {
		kept := topP([]float64{0.3, 0.05, 0.5, 0.15}, p)
		count, sum := 0, 0.0
		for _, v := range kept {
			sum += v
			if v > 0 {
				count++
			}
		}
		if count != size || !(math.Abs(sum-1) <= 1e-15) {
			t.Errorf("p = %v: got %v, want %d words that sum to 1", p, kept, size)
		}
	}
	near(
		t, "p = 0.75", hand.NewMatrix(1, 4, topP([]float64{0.3, 0.05, 0.5, 0.15}, 0.75)...),
		hand.NewMatrix(1, 4, 0.375, 0, 0.625, 0),
	)

	s := newStudy(t)
	for i := range s.Context {
		row := s.a["P"].Tokens(i, i+1).Data
		for _, p := range []float64{0.05, 0.3, 0.6, 0.95} {
			size := len(row) - len(slices.DeleteFunc(topP(row, p), func(v float64) bool { return v > 0 }))
			if want := smallestSet(row, p); size != want {
				t.Errorf("row %d, p = %v: got %d words, want %d", i, p, size, want)
			}
		}
	}

	padded := s
	padded.Tokens = append(slices.Clone(s.Tokens[:4]), 0, 0)
	logits := section3(padded.Fixture, s.Parameters)["L"]
	if !slices.Equal(logits.Tokens(3, 4).Data, s.a["L"].Tokens(3, 4).Data) {
		t.Error("the row of the last word depends on the padding behind it")
	}
	wrongBy(t, "row n of a padded input", logits.Tokens(5, 6), logits.Tokens(3, 4), 0.715)
}

// topP returns the renormalised probabilities of the most probable words that together reach p; the others get 0.
func topP(probabilities []float64, p float64) []float64 {
	order := natural(len(probabilities))
	slices.SortFunc(order, func(a, b int) int {
		if probabilities[a] > probabilities[b] {
			return -1
		}
		return 1
	})
	out, sum := make([]float64, len(order)), 0.0
	for _, word := range order {
		out[word] = probabilities[word]
		if sum += probabilities[word]; sum >= p {
			break
		}
	}
	for word := range out {
		out[word] /= sum
	}
	return out
}

// smallestSet returns the size of the smallest set of words that reaches p. It tries all sets.
func smallestSet(probabilities []float64, p float64) int {
	smallest := len(probabilities)
	for set := 1; set < 1<<len(probabilities); set++ {
		size, sum := 0, 0.0
		for word, v := range probabilities {
			if set>>word&1 == 1 {
				size, sum = size+1, sum+v
			}
		}
		if sum >= p && size < smallest {
			smallest = size
		}
	}
	return smallest
}
