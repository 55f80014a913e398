package search

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// All settings that mean all tokens draw the same tokens from the same random numbers.
func TestSamplerOfAll(t *testing.T) {
	logits := graph.Tensor{Shape: []int{5}, F64: []float64{0.5, 2, 1, -1, 1.5}}
	draws := func(k int, p float64) (ids []int) {
		s := NewSampler(3)
		s.TopK, s.TopP = k, p
		for range 40 {
			id, err := s.Draw(logits)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		return ids
	}
	want := draws(0, 0)
	for _, k := range []int{0, 5, 6} {
		for _, p := range []float64{0, 1} {
			if got := draws(k, p); !slices.Equal(got, want) {
				t.Errorf("top_k %d, top_p %v: got %v, want %v", k, p, got, want)
			}
		}
	}
	if got := draws(4, 0); slices.Contains(got, 3) || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 4 {
		t.Errorf("of the likeliest 4: got %v", got)
	}
	s := NewSampler(1) // rounding may leave a rest, which goes to the last token
	s.choices = []choice{{4, 0}, {7, 0}, {2, 0}}
	if got := s.pick(); got != 2 {
		t.Errorf("got %d, want the last, 2", got)
	}
}

// A sampler draws from random logits of any size, or returns an error.
func TestNoPanicSampler(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	special := []float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324}
	s := NewSampler(1)
	for range 20_000 {
		z := make([]float64, rng.IntN(5))
		for i := range z {
			z[i] = special[rng.IntN(len(special))]
		}
		s.Temperature, s.TopP, s.TopK = special[rng.IntN(len(special))], special[rng.IntN(3)], rng.IntN(7)-2
		s.MinP, s.RepetitionPenalty = special[rng.IntN(3)], special[rng.IntN(len(special))]
		id, err := s.Draw(graph.Tensor{Shape: []int{len(z)}, F64: z}, make([]int, rng.IntN(3))...)
		if err == nil && (id < 0 || id >= len(z) || math.IsInf(z[id], -1)) {
			t.Fatalf("drew %d from %v at temperature %v, top_k %d, top_p %v", id, z, s.Temperature, s.TopK, s.TopP)
		}
	}
}

// A second goroutine cannot draw with a Sampler that is in use, and a Sampler needs logits.
func TestSamplerRefuses(t *testing.T) {
	s := NewSampler(1)
	s.busy.Lock()
	_, err := s.Draw(logits(1, 2))
	mustContain(t, err, "sampler: in use")
	_, err = (&Sampler{}).Draw(graph.Tensor{})
	mustContain(t, err, "sampler: no logits")
	_, err = (*Sampler)(nil).Draw(graph.Tensor{})
	mustContain(t, err, "sampler: got nil")
	_, err = (&Sampler{Temperature: 1}).Draw(logits(1, 2))
	mustContain(t, err, "temperature 1 and nothing to draw with")
	if s = NewSampler(1); s.Temperature != 1 {
		t.Errorf("got temperature %v, want 1", s.Temperature)
	}
	s.RepetitionPenalty = math.Inf(1)
	_, err = s.Draw(logits(1, 2))
	mustContain(t, err, "repetition_penalty: got +Inf, want a finite number")
	s.RepetitionPenalty = 2 // of a token that cannot come
	if id, err := s.Draw(logits(1, math.Inf(-1)), 1); err != nil || id != 0 {
		t.Errorf("a token with a logit of -Inf in the text: got %d, %v, want 0", id, err)
	}
	for minP, want := range map[float64]string{-0.5: "min_p: got -0.5", 1.5: "min_p: got 1.5"} {
		s.MinP = minP
		_, err = s.Draw(logits(1, 2))
		mustContain(t, err, want, "[0, 1]")
	}
	s.MinP = 1
	if id, err := s.Draw(logits(1, 2)); err != nil || id != 1 {
		t.Errorf("min_p 1: got %d, %v, want the likeliest, 1", id, err)
	}
}
