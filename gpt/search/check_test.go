package search

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

func mustContain(t testing.TB, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("got error %v, want %q in it", err, w)
		}
	}
}

// misshapen is a Predictor that returns logits of the wrong shape.
type misshapen struct {
	*tree
	logits graph.Tensor
}

func (m misshapen) Step([]int) (graph.Tensor, error) { return m.logits, nil }

// Invalid arguments of a search, and a rank that is NaN, are clear errors.
func TestSearchRefuses(t *testing.T) {
	ok, ctx := func() Predictor { return newTree(1, 2, gardenPath()) }, t.Context()
	of := func(sources, beams int) Predictor { return &tree{sources: sources, beams: beams} }
	for _, tc := range []struct {
		ctx   context.Context
		p     Predictor
		limit int
		says  []string
	}{
		{nil, ok(), 3, []string{"context: got nil"}},
		{ctx, nil, 3, []string{"predictor: got nil"}},
		{ctx, ok(), -1, []string{"limit: got -1 tokens", "0 or more"}},
		{ctx, of(1, 0), 3, []string{"got 1 sources and 0 beams", "1 or more"}},
		{ctx, of(0, -1), 3, []string{"got 0 sources and -1 beams"}},
		{ctx, of(0, 3), 3, []string{"got 0 sources and 3 beams"}},
		{ctx, of(1<<20, 1<<22), 3, []string{"memory: got about 5.243e+05 GiB", "sources 1048576", "beams 4194304"}},
		{
			ctx, misshapen{newTree(1, 2, nil), graph.Tensor{Shape: []int{2, 0}}}, 3,
			[]string{"got 0 logits of shape [2 0]"},
		},
		{ctx, misshapen{newTree(1, 2, nil), graph.Tensor{}}, 3, []string{"got 0 logits of shape []", "each of 2"}},
		{
			ctx, misshapen{newTree(1, 2, nil), graph.Tensor{Shape: []int{2, 5}, F64: make([]float64, 9)}}, 3,
			[]string{"got 9 logits of shape [2 5]"},
		},
		{
			ctx, misshapen{newTree(1, 2, nil), graph.Tensor{Shape: []int{1, 5}, F64: make([]float64, 5)}}, 3,
			[]string{"got 5 logits of shape [1 5]"},
		},
		{
			ctx, misshapen{newTree(1, 2, nil), graph.Tensor{Shape: []int{2, 1}, F64: []float64{0, math.NaN()}}}, 3,
			[]string{"logits", "NaN"},
		},
	} {
		_, err := Greedy(tc.ctx, tc.p, tc.limit)
		mustContain(t, err, append(tc.says, "")...)
		_, err = Beam(tc.ctx, tc.p, tc.limit, nil)
		mustContain(t, err, append(tc.says, "")...)
	}
	for _, alpha := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := Beam(ctx, ok(), 3, LengthPenalty(alpha))
		mustContain(t, err, "rank: got NaN for ln p", "1 tokens", "want a number")
	}
}

// stumbling is a Predictor that fails, or returns NaN, at a step.
type stumbling struct {
	*tree
	left int
	err  error
}

func (s *stumbling) Step(tokens []int) (graph.Tensor, error) {
	out, err := s.tree.Step(tokens)
	if s.left--; s.left < 0 && s.err != nil {
		return graph.Tensor{}, s.err
	} else if s.left < 0 {
		out.Set(3, math.NaN())
	}
	return out, err
}

// A step that fails ends the search with its error, and so does one that returns NaN.
func TestSearchEndsWithItsError(t *testing.T) {
	next := map[string]map[string]float64{"": {"a": 1}, "a": {"b": 1}, "ab": {"c": 1}}
	broken := errors.New("broken")
	for left := range 3 {
		for _, err := range []error{broken, nil} {
			_, greedy := Greedy(context.Background(), &stumbling{newTree(1, 1, next), left, err}, 5)
			_, beam := Beam(context.Background(), &stumbling{newTree(1, 2, next), left, err}, 5, nil)
			for _, got := range []error{greedy, beam} {
				if got == nil || err != nil && !errors.Is(got, err) || err == nil &&
					!errors.Is(got, graph.ErrNotFinite) {
					t.Errorf("after %d steps: got %v, want %v", left, got, err)
				}
			}
		}
	}
}
