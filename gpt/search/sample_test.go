package search

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

func logits(z ...float64) graph.Tensor { return graph.Tensor{Shape: []int{len(z)}, F64: z} }

// logs returns the logits of these probabilities.
func logs(p ...float64) graph.Tensor {
	z := make([]float64, len(p))
	for i := range p {
		z[i] = math.Log(p[i])
	}
	return logits(z...)
}

// frequencies returns the frequency of each token in n draws.
func frequencies(t *testing.T, s *Sampler, z graph.Tensor, n int) []float64 {
	t.Helper()
	f := make([]float64, z.Len())
	for range n {
		id, err := s.Draw(z)
		if err != nil {
			t.Fatal(err)
		}
		f[id] += 1 / float64(n)
	}
	return f
}

func TestSamplerFrequencies(t *testing.T) {
	z := logs(0.15, 0.5, 0.05, 0.3) // in no order
	for name, tc := range map[string]struct {
		temperature float64
		topK        int
		topP        float64
		want        []float64
	}{
		"as they are":        {1, 0, 0, []float64{0.15, 0.5, 0.05, 0.3}},
		"top_p 1":            {1, 0, 1, []float64{0.15, 0.5, 0.05, 0.3}},
		"top_p 0.9":          {1, 0, 0.9, []float64{0.15 / 0.95, 0.5 / 0.95, 0, 0.3 / 0.95}},
		"top_p 0.5":          {1, 0, 0.5, []float64{0, 1, 0, 0}},
		"top_p tiny":         {1, 0, 1e-300, []float64{0, 1, 0, 0}},
		"top_k 2":            {1, 2, 0, []float64{0, 0.625, 0, 0.375}},
		"top_k 1":            {1, 1, 0, []float64{0, 1, 0, 0}},
		"top_k 99":           {1, 99, 0, []float64{0.15, 0.5, 0.05, 0.3}},
		"top_k 3, top_p 0.6": {1, 3, 0.6, []float64{0, 0.625, 0, 0.375}}, // of the three, 0.5/0.95 < 0.6
		"temperature ½":      {0.5, 0, 0, []float64{0.0225 / 0.365, 0.25 / 0.365, 0.0025 / 0.365, 0.09 / 0.365}},
		"temperature 1e6":    {1e6, 0, 0, []float64{0.25, 0.25, 0.25, 0.25}},
		"temperature 1e-9":   {1e-9, 0, 0, []float64{0, 1, 0, 0}},
		"temperature 0":      {0, 0, 0, []float64{0, 1, 0, 0}},
	} {
		s := NewSampler(1)
		s.Temperature, s.TopK, s.TopP = tc.temperature, tc.topK, tc.topP
		const n = 20_000
		for i, got := range frequencies(t, s, z, n) {
			want := tc.want[i]
			if spread := 5*math.Sqrt(want*(1-want)/n) + 1e-9; !(math.Abs(got-want) <= spread) {
				t.Errorf("%s: token %d came up %.4f of the time, want %.4f", name, i, got, want)
			}
		}
	}
}

// The numbers of tokens that equation 14 of 003 keeps of [.5, .3, .15, .05].
func TestSamplerTopP(t *testing.T) {
	for p, want := range map[float64]int{0.9: 3, 0.5: 1, 1: 4, 1e-9: 1, 0.500001: 2, 0.8: 2} {
		s := NewSampler(1)
		s.TopP = p
		s.choices = []choice{{0, 0.5}, {1, 0.3}, {2, 0.15}, {3, 0.05}}
		s.cut()
		if len(s.choices) != want {
			t.Errorf("top_p %v keeps %d tokens, want %d", p, len(s.choices), want)
		}
	}
}

func TestSamplerEntropy(t *testing.T) {
	last := -1.0
	for _, temperature := range []float64{0, 0.1, 0.3, 0.7, 1, 2, 8} {
		s := NewSampler(3)
		s.Temperature = temperature
		var entropy float64
		for _, p := range frequencies(t, s, logits(2, 0, -1, 1.5, 0.2), 20_000) {
			if p > 0 {
				entropy -= p * math.Log(p)
			}
		}
		if !(entropy > last) {
			t.Errorf("temperature %v: entropy %.4f nats, %.4f at the one before", temperature, entropy, last)
		}
		last = entropy
	}
	if !(last < math.Log(5)) {
		t.Errorf("entropy %v of 5 tokens", last)
	}
}

func TestSamplerEdges(t *testing.T) {
	greedy := NewSampler(1)
	greedy.Temperature = 0
	for _, tc := range []struct {
		z    graph.Tensor
		want int
	}{
		{logits(7), 0},
		{logits(1, 3, 3, 2), 1}, // the first of equals
		{logits(math.Inf(-1), -1e300, math.Inf(-1)), 1},
		{graph.Tensor{Shape: []int{3}, F32: []float32{0, -1, 3e38}}, 2},
	} {
		for _, s := range []*Sampler{greedy, {Temperature: 1e-3, TopK: 1, rng: NewSampler(1).rng}} {
			if got, err := s.Draw(tc.z); err != nil || got != tc.want {
				t.Errorf("of %v: got %d (%v), want %d", tc.z, got, err, tc.want)
			}
		}
	}
	s := NewSampler(1) // a token that cannot come never does
	for i, p := range frequencies(t, s, logits(0, math.Inf(-1), 0), 1000) {
		if (p == 0) != (i == 1) {
			t.Errorf("token %d came up %v of the time", i, p)
		}
	}
}

func TestSamplerSeed(t *testing.T) {
	draws := func(seed uint64) (ids []int) {
		s := NewSampler(seed)
		s.TopK, s.TopP = 4, 0.95
		for range 50 {
			id, err := s.Draw(logits(0, 1, 2, 1, 0.5))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		return ids
	}
	if !slices.Equal(draws(1), draws(1)) {
		t.Error("the same seed draws differently")
	}
	if slices.Equal(draws(1), draws(2)) {
		t.Error("another seed draws the same")
	}
}

func TestSamplerErrors(t *testing.T) {
	for _, z := range []graph.Tensor{logits(0, math.NaN()), logits(math.NaN(), 0), logits(0, math.Inf(1)),
		{Shape: []int{2}, F32: []float32{0, float32(math.NaN())}}} {
		for _, temperature := range []float64{0, 1} {
			s := NewSampler(1)
			s.Temperature = temperature
			if _, err := s.Draw(z); !errors.Is(err, graph.ErrNotFinite) {
				t.Errorf("logits %v: got %v, want ErrNotFinite", z, err)
			}
		}
	}
	_, err := NewSampler(1).Draw(logits())
	mustContain(t, err, "no logits")
	_, err = NewSampler(1).Draw(logits(math.Inf(-1), math.Inf(-1)))
	mustContain(t, err, "not finite")
	for _, tc := range []struct {
		temperature, topP float64
		words             []string
	}{
		{-1, 0, []string{"temperature: got -1", "0 or above"}},
		{math.NaN(), 0, []string{"temperature: got NaN"}},
		{math.Inf(1), 0, []string{"temperature: got +Inf"}},
		{1, -0.1, []string{"top_p: got -0.1", "[0, 1]"}},
		{1, 1.1, []string{"top_p: got 1.1"}},
		{1, math.NaN(), []string{"top_p: got NaN"}},
	} {
		s := NewSampler(1)
		s.Temperature, s.TopP = tc.temperature, tc.topP
		_, err := s.Draw(logits(0, 1))
		mustContain(t, err, tc.words...)
	}
}
