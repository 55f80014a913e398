package gpt

import (
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
