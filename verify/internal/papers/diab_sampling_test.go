package papers

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

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
		entropy := -p.Mul(p.Shift(1e-300).Log()).SumTokens().SumFeatures().Data[0]
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
	near(t, "p = 0.75", hand.NewMatrix(1, 4, topP([]float64{0.3, 0.05, 0.5, 0.15}, 0.75)...), hand.NewMatrix(1, 4, 0.375, 0, 0.625, 0))

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
