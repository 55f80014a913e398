package gpt

import (
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
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
		if got := append(
			drawn(t, generate(t.Context(), d, prompt, 3, greedy)),
			drawn(t, proceed(t.Context(), d, nil, 17, greedy))...,
		); !slices.Equal(got, want) {
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
		if got, want := drawn(
			t, proceed(t.Context(), d, []int{2}, 2, greedy),
		), fresh([]int{3, 4, 7, 2}, 2); !slices.Equal(got, want) {
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
		{
			ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.Temperature = -0.5 }),
			[]string{"temperature", "-0.5", "0 or above"},
		},
		{
			ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.Temperature = math.NaN() }),
			[]string{"temperature", "NaN"},
		},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.TopK = -1 }), []string{"top_k", "-1", "0 for all"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.TopP = 1.5 }), []string{"top_p", "1.5", "[0, 1]"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.TopP = math.NaN() }), []string{"top_p", "NaN"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.MinP = 1.01 }), []string{"min_p: got 1.01", "[0, 1]"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.MinP = -0.1 }), []string{"min_p: got -0.1", "[0, 1]"}},
		{ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.MinP = math.NaN() }), []string{"min_p: got NaN"}},
		{
			ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.RepetitionPenalty = -1 }),
			[]string{"repetition_penalty: got -1", "above 0"},
		},
		{
			ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.RepetitionPenalty = math.NaN() }),
			[]string{"repetition_penalty: got NaN"},
		},
		{
			ctx, []int{1}, 1, sampler(func(s *search.Sampler) { s.RepetitionPenalty = math.Inf(1) }),
			[]string{"repetition_penalty: got +Inf"},
		},
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

// A model continues a text like a decoder its tokens. Invalid arguments are an error, which ends the loop.
func TestModelGenerate(t *testing.T) {
	trainer := newTrainer(t, tiny())
	tok := trainer.Tokenizer
	prompt, err := tok.Encode("The river")
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecoder(trainer.Model, 1)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int
	for id, err := range generate(t.Context(), d, prompt, 12, search.NewSampler(5)) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	want, _ := tok.Decode(ids)
	got := ""
	for piece, err := range trainer.Model.Generate(t.Context(), tok, "The river", 12, search.NewSampler(5)) {
		if err != nil {
			t.Fatal(err)
		}
		got += piece
	}
	if got != want || got == "" {
		t.Errorf("wrote %q, want %q", got, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx    context.Context
		m      *Model
		tok    text.Tokenizer
		prompt string
		want   string
	}{
		{t.Context(), trainer.Model, nil, "The", "tokenizer: got nil"},
		{t.Context(), trainer.Model, tok, "\u00fc", "generate: prompt: "},
		{t.Context(), trainer.Model, tok, "", "prompt: got 0 tokens"},
		{t.Context(), nil, tok, "The", "model: got nil"},
		{ended, trainer.Model, tok, "The", "context canceled"},
	} {
		n := 0
		for piece, err := range c.m.Generate(c.ctx, c.tok, c.prompt, 3, search.NewSampler(1)) {
			if n++; err == nil || piece != "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: got %q and error %v, want %q", c.prompt, piece, err, c.want)
			}
		}
		if n != 1 {
			t.Errorf("%q: yielded %d times, want once", c.prompt, n)
		}
	}
}

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
	if !slices.Equal(best.Tokens, all[0].Tokens) || best.Ended != all[0].Ended ||
		!(math.Abs(best.LogProb-all[0].LogProb) <= 1e-12) {
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
		{[]int{1}, -1, nil, "beam: tokens: got -1"},
		{[]int{1}, 1, []int{-1}, "beam: stop: token 0 is -1, not in 0 … 12"},
		{
			[]int{1}, 1 << 40, nil,
			"beam: memory: got about 1.638e+04 GiB for hypotheses of tokens 1099511627776, sequences 2",
		},
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
