package gpt

import (
	"context"
	"iter"
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
)

func drawn(t testing.TB, tokens iter.Seq2[int, error]) (ids []int) {
	t.Helper()
	for id, err := range tokens {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// Generate does not depend on the text before, whoever has generated it or stopped early. Continue depends on all of
// it, including the last drawn token, and two turns generate the same as one.
func TestGenerateBeginsAnew(t *testing.T) {
	for _, m := range []*Model{model64(t, odd(), true, 1), model64(t, ours(), true, 1)} { // cached, and rerun
		greedy := search.NewSampler(1)
		greedy.Temperature = 0
		fresh := func(prompt []int, n int) []int {
			return drawn(t, generate(t.Context(), newDecoderOf(t, m), prompt, n, greedy))
		}
		d, other, prompt := newDecoderOf(t, m), []int{9, 2, 11}, []int{3, 4}
		want := fresh(prompt, 20)
		for name, before := range map[string]func(){
			"nothing":  func() {},
			"fed":      func() { feed(t, d, other...) },
			"written":  func() { drawn(t, generate(t.Context(), d, other, 5, greedy)) },
			"continue": func() { drawn(t, proceed(t.Context(), d, other, 5, greedy)) },
			"break": func() {
				for range generate(t.Context(), d, other, 5, greedy) {
					break
				}
			},
		} {
			before()
			if got := drawn(t, generate(t.Context(), d, prompt, 20, greedy)); !slices.Equal(got, want) {
				t.Errorf("after %s: wrote %v, want %v", name, got, want)
			}
		}
		if got := append(drawn(t, generate(t.Context(), d, prompt, 3, greedy)), drawn(t, proceed(t.Context(), d, nil, 17, greedy))...); !slices.Equal(got, want) {
			t.Errorf("in two turns: wrote %v, want %v", got, want)
		}
		text := slices.Concat(prompt, drawn(t, generate(t.Context(), d, prompt, 2, greedy)), other)
		if got, want := drawn(t, proceed(t.Context(), d, other, 2, greedy)), fresh(text, 2); !slices.Equal(got, want) {
			t.Errorf("after a turn of the other: wrote %v, want %v", got, want)
		}
		drawn(t, generate(t.Context(), d, prompt, 0, greedy)) // begins, and writes nothing yet
		if got := drawn(t, proceed(t.Context(), d, nil, 20, greedy)); !slices.Equal(got, want) {
			t.Errorf("begun without a token: wrote %v, want %v", got, want)
		}
		// Tokens that are fed replace the token drawn last.
		drawn(t, generate(t.Context(), d, prompt, 1, greedy))
		sameLogits(t, "fed after a draw", feed(t, d, 7), feed(t, newDecoderOf(t, m), 3, 4, 7))
		if got, want := drawn(t, proceed(t.Context(), d, []int{2}, 2, greedy)), fresh([]int{3, 4, 7, 2}, 2); !slices.Equal(got, want) {
			t.Errorf("behind what was fed: wrote %v, want %v", got, want)
		}
		if err := d.Reset(); err != nil {
			t.Fatal(err)
		}
		_, err := first(proceed(t.Context(), d, nil, 1, greedy))
		mustContain(t, err, "prompt: got 0 tokens")
	}
}

func first(tokens iter.Seq2[int, error]) (id int, err error) {
	for id, err = range tokens {
		break
	}
	return id, err
}

// Invalid arguments are an error before anything of the last text is discarded.
func TestGenerateRefuses(t *testing.T) {
	d := newDecoderOf(t, model64(t, odd(), true, 1))
	sampler := func(change func(*search.Sampler)) *search.Sampler {
		s := search.NewSampler(1)
		change(s)
		return s
	}
	ctx, ok := t.Context(), search.NewSampler(1)
	for _, tc := range []struct {
		ctx    context.Context
		prompt []int
		n      int
		s      *search.Sampler
		says   []string
	}{
		{nil, []int{1}, 1, ok, []string{"context", "nil"}},
		{ctx, nil, 1, ok, []string{"prompt", "0 tokens", "1 or more"}},
		{ctx, []int{1}, -3, ok, []string{"tokens", "-3", "0 or more"}},
		{ctx, []int{1, 13}, 1, ok, []string{"token 1", "13", "0 … 12"}},
		{ctx, []int{math.MinInt}, 1, ok, []string{"token 0", "-9223372036854775808", "0 … 12"}},
		{ctx, []int{1}, 1, nil, []string{"sampler", "nil", "NewSampler"}},
		{ctx, []int{1}, 1, &search.Sampler{Temperature: 1}, []string{"sampler", "NewSampler"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.Temperature = -0.5 }), []string{"temperature", "-0.5", "0 or above"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.Temperature = math.NaN() }), []string{"temperature", "NaN"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.TopK = -1 }), []string{"top_k", "-1", "0 for all"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.TopP = 1.5 }), []string{"top_p", "1.5", "[0, 1]"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.TopP = math.NaN() }), []string{"top_p", "NaN"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.MinP = 1.01 }), []string{"min_p: got 1.01", "[0, 1]"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.MinP = -0.1 }), []string{"min_p: got -0.1", "[0, 1]"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.MinP = math.NaN() }), []string{"min_p: got NaN"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.RepetitionPenalty = -1 }), []string{"repetition_penalty: got -1", "above 0"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.RepetitionPenalty = math.NaN() }), []string{"repetition_penalty: got NaN"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.RepetitionPenalty = math.Inf(1) }), []string{"repetition_penalty: got +Inf"}},
	} {
		feed(t, d, 5)
		for _, tokens := range []iter.Seq2[int, error]{
			generate(tc.ctx, d, tc.prompt, tc.n, tc.s), proceed(tc.ctx, d, tc.prompt, tc.n, tc.s),
		} {
			_, err := first(tokens)
			mustContain(t, err, append(tc.says, "generate")...)
		}
	}
	feed(t, d, 5)
	zero := &search.Sampler{}
	if _, err := first(generate(ctx, d, []int{1}, 1, zero)); err != nil {
		t.Errorf("the zero Sampler is greedy: got %v", err)
	}
}

// A nil decoder, an invalid model, and an invalid batch are errors, the last before anything is allocated.
func TestDecodersRefuse(t *testing.T) {
	m := model64(t, odd(), true, 1)
	short := *m
	short.Config.BlockSize = 0
	for name, tc := range map[string]struct {
		m    *Model
		says []string
	}{
		"nil":      {nil, []string{"model: got nil"}},
		"zero":     {&Model{}, []string{"model", "no graph"}},
		"no sizes": {&Model{Graph: m.Graph}, []string{"model: a literal, want one from New"}},
		"short":    {&short, []string{"model: Config: got block_size 0, but the model is built with block_size 7"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewDecoder(tc.m, 1)
			mustContain(t, err, append(tc.says, "decoder")...)
			_, err = NewDecoder(tc.m, 2)
			mustContain(t, err, append(tc.says, "decoder")...)
		})
	}
	for _, batch := range []int{1 << 40, 1 << 62, math.MaxInt} {
		d, err := NewDecoder(m, batch)
		if d != nil {
			t.Error("a decoder together with an error")
		}
		mustContain(t, err, "decoder: memory: got about", "GiB", "block_size 7", "; want at most ")
	}
	for _, d := range []*decode.Session{nil, {}} {
		_, err := d.Feed([]int{1})
		mustContain(t, err, "decoder", "NewDecoder")
		mustContain(t, d.Reset(), "decoder", "NewDecoder")
		_, err = first(generate(t.Context(), d, []int{1}, 1, search.NewSampler(1)))
		mustContain(t, err, "decoder", "NewDecoder")
		_, err = first(proceed(t.Context(), d, []int{1}, 1, search.NewSampler(1)))
		mustContain(t, err, "decoder", "NewDecoder")
	}
	for _, d := range []*decode.Session{nil, {}} {
		_, err := d.Feed([]int{1})
		mustContain(t, err, "decoder", "NewDecoder")
		mustContain(t, d.Reset(), "decoder", "NewDecoder")
	}
}

// Only one caller can use a decoder at a time: others get an error and change nothing, also from inside the loop.
func TestDecoderHasOneCaller(t *testing.T) {
	m := model64(t, odd(), true, 1)
	d, batch, s := newDecoderOf(t, m), newBatchDecoderOf(t, m, 2), search.NewSampler(1)
	want := drawn(t, generate(t.Context(), d, []int{3}, 6, search.NewSampler(1)))
	var got []int
	for id, err := range generate(t.Context(), d, []int{3}, 6, s) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, id)
		done := make(chan error, 4)
		go func() {
			_, err := d.Feed([]int{1})
			done <- err
			_, err = first(generate(context.Background(), d, []int{5}, 1, s))
			done <- err
			_, err = first(proceed(context.Background(), d, []int{5}, 1, s))
			done <- err
			done <- d.Reset()
		}()
		for range cap(done) {
			mustContain(t, <-done, "decoder: in use")
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("wrote %v between refusals, want %v", got, want)
	}
	for range batch.Generate(t.Context(), [][]int{{1}, {2}}, 1, samplersOf(2)) {
		_, err := batch.Feed([]int{1}, []int{2})
		mustContain(t, err, "decoder: in use")
		mustContain(t, batch.Reset(), "decoder: in use")
	}
}
