package gpt

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// lnp is ln softmax, token by token.
func lnp(z graph.Tensor) []float64 {
	list, sum := z.Floats(), 0.0
	top := slices.Max(list)
	for _, x := range list {
		sum += math.Exp(x - top)
	}
	for id := range list {
		list[id] -= top + math.Log(sum)
	}
	return list
}

// scored returns ln p of the tokens after a prompt, and of the best stop token after them if they have ended.
func scored(t *testing.T, d *decode.Session, prompt []int, h search.Hypothesis, stop []int) (sum float64) {
	t.Helper()
	if err := d.Reset(); err != nil {
		t.Fatal(err)
	}
	next := prompt
	for i := range len(h.Tokens) + 1 {
		z, err := d.Feed(next)
		if err != nil {
			t.Fatal(err)
		}
		lp := lnp(z)
		if i < len(h.Tokens) {
			sum += lp[h.Tokens[i]]
			next = h.Tokens[i:][:1]
		} else if h.Ended {
			best := math.Inf(-1)
			for _, id := range stop {
				best = max(best, lp[id])
			}
			sum += best
		}
	}
	return sum
}

// beamsAlone compares the hypotheses of a search with the probabilities of the same tokens one by one: an error in a
// Fork of any layer would change a probability.
func beamsAlone(t *testing.T, d *decode.Session, single *decode.Session) {
	t.Helper()
	prompt, stop := []int{4, 1, 9, 6}, []int{11}
	found, err := d.Beam(t.Context(), prompt, 9, search.LengthPenalty(1), stop...)
	if err != nil || len(found) != 3 {
		t.Fatalf("got %v (%v), want 3 hypotheses", found, err)
	}
	for i, h := range found {
		if want := scored(t, single, prompt, h, stop); !(math.Abs(h.LogProb-want) <= 1e-11) {
			t.Errorf("hypothesis %d, %v: ln p is %v, alone %v", i, h.Tokens, h.LogProb, want)
		}
	}
}

// With one beam for each token the search finds the likeliest two tokens; with one beam it is greedy.
func TestBeamIsExactAndGreedy(t *testing.T) {
	m := model64(t, odd(), true, 1)
	d, single := newBatchDecoderOf(t, m, 13), newDecoderOf(t, m)
	prompt, stop := []int{3, 4}, []int{2, 7}
	var all []search.Hypothesis
	add := func(tokens []int, ended bool) {
		h := search.Hypothesis{Tokens: tokens, Ended: ended}
		h.LogProb = scored(t, single, prompt, h, stop)
		all = append(all, h)
	}
	add(nil, true)
	for a := range 13 {
		if slices.Contains(stop, a) {
			continue
		}
		add([]int{a}, true)
		for b := range 13 {
			if !slices.Contains(stop, b) {
				add([]int{a, b}, false)
			}
		}
	}
	slices.SortFunc(all, func(a, b search.Hypothesis) int {
		if a.LogProb > b.LogProb {
			return -1
		}
		return 1
	})
	found, err := d.Beam(t.Context(), prompt, 2, search.LengthPenalty(0), stop...)
	if err != nil {
		t.Fatal(err)
	}
	best := found[0]
	for _, h := range found[1:] { // those that have ended come first
		if h.LogProb > best.LogProb {
			best = h
		}
	}
	if !slices.Equal(best.Tokens, all[0].Tokens) || best.Ended != all[0].Ended || !(math.Abs(best.LogProb-all[0].LogProb) <= 1e-12) {
		t.Errorf("got %+v, want %+v", best, all[0])
	}

	greedy := search.NewSampler(1)
	greedy.Temperature = 0
	want, _ := alone(t, single, prompt, 20, greedy, 7)
	one, err := newBatchDecoderOf(t, m, 1).Beam(t.Context(), prompt, 20, nil, 7)
	if err != nil || !slices.Equal(one[0].Tokens, want) || one[0].Ended != (len(want) < 20) {
		t.Errorf("one beam: got %v (%v), greedy %v", one, err, want)
	}
}

func TestBeamRefuses(t *testing.T) {
	d := newBatchDecoderOf(t, model64(t, odd(), true, 1), 2)
	if _, err := d.Feed([]int{5}, []int{6}); err != nil {
		t.Fatal(err)
	}
	var none context.Context
	_, err := d.Beam(none, []int{1}, 1, nil)
	mustContain(t, err, "beam: context: got nil")
	ctx := t.Context()
	for _, tc := range []struct {
		prompt []int
		n      int
		stop   []int
		says   string
	}{
		{nil, 1, nil, "beam: prompt: got 0 tokens"}, {[]int{1, 13}, 1, nil, "beam: token 1 is 13, not in 0 … 12"},
		{[]int{1}, -1, nil, "beam: tokens: got -1"}, {[]int{1}, 1, []int{-1}, "beam: stop: token 0 is -1, not in 0 … 12"},
		{[]int{1}, 1 << 40, nil, "beam: memory: got about 1.638e+04 GiB for hypotheses of tokens 1099511627776, sequences 2"},
	} {
		_, err := d.Beam(ctx, tc.prompt, tc.n, nil, tc.stop...)
		mustContain(t, err, tc.says)
	}
	if _, err := d.Feed([]int{7}, []int{8}); err != nil {
		t.Errorf("after refusals: %v", err)
	}
	_, err = d.Beam(ctx, []int{1}, 3, func(float64, int) float64 { return math.NaN() })
	mustContain(t, err, "beam: decode: rank: got NaN")
	_, err = d.Feed([]int{1}, []int{2})
	mustContain(t, err, "hypotheses of Beam")
	if err := d.Reset(); err != nil {
		t.Fatal(err)
	}
	for range d.Generate(ctx, [][]int{{1}, {2}}, 1, samplersOf(2)) {
		_, err = d.Beam(ctx, []int{1}, 1, nil)
		mustContain(t, err, "decoder: in use")
	}
	for _, d := range []*decode.Session{nil, {}} {
		_, err := d.Beam(ctx, []int{1}, 1, nil)
		mustContain(t, err, "NewDecoder")
	}
}
