package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// (1) A word is drawn from the softmax of a vector with a number for each word of the vocabulary: all of them can
// occur, each with the frequency of its probability.
func TestNoteEq01(t *testing.T) {
	s := newStudy(t)
	p := s.hand.Logits.Tokens(s.Context-1, s.Context).Softmax()
	near(t, "Σ p", p.SumFeatures(), ones(1, 1))
	if p.Cols != fixture.Vocabulary || frobenius(p.Step().Shift(-1)) != 0 {
		t.Errorf("got %v, want %d probabilities above 0", p.Data, fixture.Vocabulary)
	}
	const draws = 20000
	counts, uniform := hand.Zeros[float64](1, p.Cols), fixture.Random("draws", 1, draws)
	for _, u := range uniform.Data {
		word, rest := 0, u+0.5
		for word < p.Cols-1 && rest >= p.Data[word] {
			rest -= p.Data[word]
			word++
		}
		counts.Data[word] += 1. / draws
	}
	for i, share := range counts.Data {
		if !(math.Abs(share-p.Data[i]) <= 4*math.Sqrt(p.Data[i]/draws)) {
			t.Errorf("word %d: got a share of %v, want about %v", i, share, p.Data[i])
		}
	}
}

// (2) The softmax of a matrix normalises each of its rows.
func TestNoteEq02(t *testing.T) {
	a := fixture.Random("A", 5, 7).Scale(6)
	want := hand.Zeros[float64](5, 7)
	for i := range 5 {
		sum := 0.0
		for j := range 7 {
			sum += math.Exp(a.At(i, j))
		}
		for j := range 7 {
			want.Data[i*7+j] = math.Exp(a.At(i, j)) / sum
		}
	}
	near(t, "softmax(A)", a.Softmax(), want)
}

// (3) The softmax of a tensor with more axes runs over the last of them: over each row of each of its matrices.
func TestNoteEq03(t *testing.T) {
	const m, l, d = 3, 5, 7
	b, want := fixture.Random("B", m, l*d).Scale(6), hand.Zeros[float64](m, l*d)
	var stacked []matrix
	for q := range m {
		stacked = append(stacked, hand.NewMatrix(l, d, b.Data[q*l*d:(q+1)*l*d]...))
		for i := range l {
			sum := 0.0
			for j := range d {
				sum += math.Exp(b.At(q, i*d+j))
			}
			for j := range d {
				want.Data[(q*l+i)*d+j] = math.Exp(b.At(q, i*d+j)) / sum
			}
		}
	}
	near(t, "softmax(B)", hand.JoinTokens(stacked...).Softmax(), hand.NewMatrix(m*l, d, want.Data...))
}
