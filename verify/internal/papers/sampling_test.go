package papers

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// draws returns the counts of n draws of the library's sampler from words with these probabilities.
func draws(t *testing.T, temperature, topP float64, n int, probabilities ...float64) []float64 {
	t.Helper()
	s := search.NewSampler(1)
	s.Temperature, s.TopP = temperature, topP
	logits := graph.Tensor{Shape: []int{1, len(probabilities)}, F64: make([]float64, len(probabilities))}
	for i, p := range probabilities {
		logits.F64[i] = math.Log(p)
	}
	counts := make([]float64, len(probabilities))
	for range n {
		word, err := s.Draw(logits)
		if err != nil {
			t.Fatal(err)
		}
		counts[word] += 1 / float64(n)
	}
	return counts
}

// Diab (13): draws come from softmax(L/T), of an entropy that increases with T; at T = 0, which the formula excludes,
// the sampler takes the most probable word.
func TestI51Temperature(t *testing.T) {
	p := hand.NewMatrix(1, 4, 0.5, 0.3, 0.15, 0.05)
	const n = 20_000
	last := -1.0
	for _, temperature := range []float64{0, 0.3, 0.7, 1, 2, 50} {
		want := hand.NewMatrix(1, 4, 1.0, 0, 0, 0)
		if temperature > 0 {
			want = p.Log().Scale(1 / temperature).Softmax()
		}
		entropy := 0.0
		for i, got := range draws(t, temperature, 1, n, p.Data...) {
			if spread := 5 * math.Sqrt(want.Data[i]*(1-want.Data[i])/n); !(math.Abs(got-want.Data[i]) <= spread+1e-9) {
				t.Errorf("T = %v: word %d came up %.4f of the time, want %.4f", temperature, i, got, want.Data[i])
			}
			if got > 0 {
				entropy -= got * math.Log(got)
			}
		}
		if !(entropy > last) {
			t.Errorf("T = %v: entropy %v, want more than %v", temperature, entropy, last)
		}
		last = entropy
	}
}

// The next word is drawn from the logits at the last word that is not padding: the logits of a full window do not
// depend on the padding after it, and the library's decoder, which gets no padding, computes the same.
func TestI51LastPosition(t *testing.T) {
	m := newModel(t, small())
	h := planOf(m)
	const last = 2
	h.Batch = 1
	padded := func(word int) matrix {
		tokens := append(slices.Clone(m.Tokens[:last+1]), word, word, word)
		a, err := gptForward(h, m.Parameters, tokens, m.Targets[:fixture.Tokens])
		if err != nil {
			t.Fatal(err)
		}
		return a.Logits
	}
	one, two := padded(0), padded(5)
	if !slices.Equal(one.Tokens(last, last+1).Data, two.Tokens(last, last+1).Data) {
		t.Error("the logits at the last word depend on the padding")
	}
	if slices.Equal(one.Tokens(last+1, last+2).Data, two.Tokens(last+1, last+2).Data) {
		t.Error("the logits behind the last word do not depend on the padding: nothing to tell apart")
	}
	d, err := gpt.NewDecoder(built(t, m, kernels64, 1), 1)
	if err != nil {
		t.Fatal(err)
	}
	logits, err := d.Feed(m.Tokens[:last+1])
	if err != nil {
		t.Fatal(err)
	}
	near(t, "logits of the decoder", hand.NewMatrix(1, logits.Len(), logits.Floats()...), one.Tokens(last, last+1))
}

// Diab (14): of the probabilities .5, .3, .15, .05 p = .9 keeps 3 words, .5 keeps 1, 1 keeps all 4, and p → 0 keeps 1.
// The sampler treats TopP = 0 as not set and keeps all. The temperature is applied first, so that a higher one keeps
// more.
func TestI52TopP(t *testing.T) {
	for _, c := range []struct {
		temperature, p float64
		kept           int
	}{{1, 0.9, 3}, {1, 0.5, 1}, {1, 1, 4}, {1, 1e-12, 1}, {1, 0, 4}, {1, 0.500001, 2}, {2, 0.9, 4}, {0.5, 0.9, 2}} {
		got := draws(t, c.temperature, c.p, 4000, 0.5, 0.3, 0.15, 0.05)
		kept, sum := 0, 0.0
		for i, share := range got {
			if share > 0 {
				kept++
				sum += math.Pow([]float64{0.5, 0.3, 0.15, 0.05}[i], 1/c.temperature)
			}
		}
		if kept != c.kept {
			t.Errorf("T = %v, p = %v: %d words came up, want %d", c.temperature, c.p, kept, c.kept)
		}
		for i, share := range got[:kept] { // renormalised
			want := math.Pow([]float64{0.5, 0.3, 0.15, 0.05}[i], 1/c.temperature) / sum
			if spread := 5*math.Sqrt(want*(1-want)/4000) + 1e-9; !(math.Abs(share-want) <= spread) {
				t.Errorf(
					"T = %v, p = %v: word %d came up %.4f of the time, want %.4f", c.temperature, c.p, i, share, want,
				)
			}
		}
	}
}
