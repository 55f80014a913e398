package gpt

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// odd returns a network in which no two sizes are equal: T 7, V 13, d 10, H 2, dρ 3, dh 4, f 11.
func odd() Config {
	var c Config
	c.BlockSize, c.VocabSize, c.Kernels = 7, 13, true
	c.Stack = parts.Stack{NLayer: 2, NHead: 2, NEmbd: 10, QKSize: 3, VSize: 4, NInner: 11, Bias: true}
	return c
}

// variants returns networks by their difference from odd.
func variants() map[string]Config {
	list, count := map[string]Config{}, 0
	vary := func(name string, change func(*Config)) {
		c := odd()
		change(&c)
		if count++; !testing.Short() || count%3 == 1 {
			list[name] = c
		}
	}
	vary("plain", func(*Config) {})
	vary("tied", func(c *Config) { c.Head = "tied" })
	vary("no bias", func(c *Config) { c.Bias = false })
	vary("post-norm", func(c *Config) { c.Block = "post" })
	vary("post-norm, tied, no bias", func(c *Config) { c.Block, c.Head, c.Bias = "post", "tied", false })
	vary("heads of the usual size", func(c *Config) { c.QKSize, c.VSize, c.NInner = 0, 0, 0 })
	vary("adapters", func(c *Config) { c.LoraR, c.LoraAlpha = 3, 5 })
	vary("adapter on c_attn, scaled by alpha", func(c *Config) {
		c.LoraR, c.LoraAlpha, c.LoraScale, c.LoraTargets = 2, 0.7, "alpha", []string{"c_attn"}
	})
	vary("windows beside full blocks", func(c *Config) {
		c.NLayer, c.Position, c.QKSize, c.Attention, c.Rope.LocalBaseFreq = 4, "rope", 4, "gqa_window", 7
		c.Options.Set("window", 2)
		c.Options.Set("full_attention_interval", 2)
	})
	vary("multipliers", func(c *Config) {
		c.Multipliers = parts.Multipliers{
			EmbeddingMultiplier: 3, AttentionMultiplier: 0.5, ResidualMultiplier: 0.25, LogitsScaling: 2,
		}
	})
	vary("blocks without rope", func(c *Config) {
		c.NLayer, c.Position = 4, "rope"
		c.QKSize, c.Rope.NoRopeLayerInterval = 4, 2
	})
	vary("scaled rope", func(c *Config) {
		c.Position, c.QKSize, c.Rope.PartialRotaryFactor = "rope", 8, 0.5
		c.Rope.Scaling, c.Rope.Factor, c.Rope.Original = "yarn", 4, 5
	})
	vary("partial rope", func(c *Config) { c.Position, c.QKSize, c.Rope.PartialRotaryFactor = "rope", 8, 0.25 })
	vary("three tokens", func(c *Config) { c.FutureTokens, c.LoraR = 3, 2 })
	vary("capped", func(c *Config) { c.LogitCap = 2 })
	vary("gelu_tanh", func(c *Config) { c.Activation = "gelu_tanh" })
	vary("relu", func(c *Config) { c.Activation = "relu" })
	vary("window of 8", func(c *Config) { c.BlockSize = 8 })
	vary("window of 2", func(c *Config) { c.BlockSize = 2 })
	vary("window of 1", func(c *Config) { c.BlockSize = 1 })
	vary("dropout", func(c *Config) { c.Dropout = 0.3 })
	for _, p := range parts.Positions() {
		vary("position "+p.String(), func(c *Config) { c.Position, c.QKSize = p.String(), 4 })
	}
	for _, a := range parts.Attentions() {
		if a.Name == "linformer" {
			continue // refused: TestImpossibleParts
		}
		vary("attention "+a.String(), func(c *Config) { c.Attention = a.String(); c.suit() })
		vary("adapters, attention "+a.String(), func(c *Config) { c.Attention, c.LoraR = a.String(), 2; c.suit() })
	}
	for _, list := range []string{"gated_deltanet*2,causal", "window,gla", "mla_rope,retnet", "deltanet,linear"} {
		vary("attention "+list, func(c *Config) { c.NLayer, c.Attention = 4, list; c.suit() })
	}
	for _, n := range parts.Norms() {
		vary("norm "+n.String(), func(c *Config) { c.Norm = n.String() })
	}
	for _, m := range parts.MLPs() {
		vary("mlp "+m.String(), func(c *Config) { c.MLP = m.String() })
	}
	for _, n := range []string{"elementwise", "headwise"} {
		vary("attn_gate "+n, func(c *Config) { c.Attention = "gqa"; c.With.Set("attn_gate", n); c.suit() })
	}
	for i, k := range parts.Kinds() { // with several attentions in turn
		for j, v := range k.Variants()[1:] {
			a := []string{"causal", "gqa", "sigmoid", "diff", "forgetting"}[(i+j)%5]
			if k.Key == "attn_sinks" && a != "gqa" {
				a = "causal"
			}
			vary(a+", "+k.Key+" "+v.String(), func(c *Config) {
				c.NLayer, c.Attention = 3, a
				c.With.Set("attn_gate", "headwise")
				c.With.Set(k.Key, v.String())
				c.suit()
			})
		}
	}
	for _, a := range []string{"causal", "gqa", "linear", "sigmoid", "forgetting", "diff"} {
		vary(a+", value_residual", func(c *Config) {
			c.Attention = a
			c.NLayer = 3
			c.With.Set("value_residual", "learned")
			c.suit()
		})
	}
	for _, n := range []string{"embedding", "unet"} {
		vary("skips "+n, func(c *Config) { c.NLayer = 3; c.With.Set("skips", n) })
	}
	for _, n := range parts.ShortConvs() {
		vary("short_conv "+n.String(), func(c *Config) {
			c.Position = "rope"
			c.QKSize = 4
			c.With.Set("short_conv", n.String())
		})
	}
	for _, a := range []string{"gqa", "linear", "longformer", "sigmoid"} {
		vary(a+", short_conv canon_abcd", func(c *Config) {
			c.MLP = "swiglu"
			c.Attention = a
			c.With.Set("short_conv", "canon_abcd")
			c.suit()
		})
	}
	for _, n := range parts.AttnSinks() {
		for _, a := range []string{"causal", "gqa", "alternating"} {
			vary(
				a+", attn_sinks "+n.String(),
				func(c *Config) { c.Attention = a; c.With.Set("attn_sinks", n.String()); c.suit() },
			)
		}
	}
	for _, n := range []string{"head", "width"} {
		vary("qk_norm "+n, func(c *Config) { c.Position, c.QKSize = "rope", 4; c.With.Set("qk_norm", n) })
		vary("gqa, qk_norm "+n, func(c *Config) { c.Attention = "gqa"; c.With.Set("qk_norm", n); c.suit() })
	}
	for _, b := range parts.Blocks() {
		vary("block "+b.String(), func(c *Config) { c.Block = b.String() })
	}
	list["parts of our own"] = ours()
	again := ours() // without a cache: every prediction is a forward pass, which drops nothing
	again.Dropout = 0.3
	list["parts of our own, dropout"] = again
	vary("dropout, post-norm, adapters", func(c *Config) { c.Dropout, c.Block, c.LoraR = 0.3, "post", 2 })
	return list
}

// quarter divides the variants among tests by day. TestDecoder tries the quarters 0 and 1, TestBatchDecoder the others.
// In either test one quarter has kernels: the even one in TestDecoder, the odd one in TestBatchDecoder.
func quarter(name string) int { return len(name) % 4 }

// half reports whether the quarter of a variant is even.
func half(name string) bool { return quarter(name)%2 == 0 }

// suit sets the options and sizes that the named attention requires.
func (c *Config) suit() {
	for name, n := range map[string]int{
		"window": 3, "dilation": 2, "global_tokens": 1, "random_keys": 1, "n_kv_head": 1, "sink_tokens": 1,
	} {
		c.Options.Offer(name, n)
	}
	if strings.HasPrefix(c.Attention, "mla_") {
		c.Position = "none" // they turn by themselves
	}
}

func model64(t testing.TB, c Config, kernels bool, batch int) *Model {
	t.Helper()
	g := graph.New(graph.Float64, 3)
	g.Kernels = kernels
	m, err := New(g, c, batch)
	if err != nil {
		t.Fatal(err)
	}
	scramble(m.Params(), 4)
	return m
}

// full is the model's forward pass over a full window.
type full struct {
	m       *Model
	program *graph.Program
}

func newFull(t testing.TB, m *Model) full {
	t.Helper()
	m.Graph.SetTraining(false)
	p, err := graph.Compile(m.Logits)
	if err != nil {
		t.Fatal(err)
	}
	return full{m, p}
}

// last returns the logits after these tokens, at most one window: later positions do not matter.
func (f full) last(t testing.TB, tokens []int) []float64 {
	t.Helper()
	clear(f.m.Tokens.Ints())
	copy(f.m.Tokens.Ints(), tokens)
	if err := f.program.Run(); err != nil {
		t.Fatal(err)
	}
	v := f.m.Config.VocabSize
	return f.program.Value().Floats()[(len(tokens)-1)*v : len(tokens)*v]
}

func newDecoderOf(t testing.TB, m *Model) *decode.Session { return newBatchDecoderOf(t, m, 1) }

// tokensOf returns the ids of tokens.
func tokensOf(tokens iter.Seq2[decode.Token, error]) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for token, err := range tokens {
			if !yield(token.ID, err) {
				return
			}
		}
	}
}

// generate returns the tokens that a decoder generates after a prompt.
func generate(
	ctx context.Context, d *decode.Session, prompt []int, n int, s *search.Sampler, stop ...int,
) iter.Seq2[int, error] {
	return tokensOf(d.Generate(ctx, [][]int{prompt}, n, []*search.Sampler{s}, stop...))
}

// proceed returns the tokens with which a decoder continues its text.
func proceed(
	ctx context.Context, d *decode.Session, tokens []int, n int, s *search.Sampler, stop ...int,
) iter.Seq2[int, error] {
	return tokensOf(d.Continue(ctx, [][]int{tokens}, n, []*search.Sampler{s}, stop...))
}

// programs returns a decoder of m, the numbers of tokens that its programs process at once, and whether they process
// only the newest tokens.
func programs(t testing.TB, m *Model) (d *decode.Session, sizes []int, newest bool) {
	t.Helper()
	n := m.network()
	build := n.Build
	n.Build = func(s graph.Scope, batch int, positions graph.Expr, caches nn.Caches) decode.Layers {
		sizes = append(sizes, positions.Shape()[0]/batch)
		return build(s, batch, positions, caches)
	}
	n.CheckSteps = func() error { newest = true; return nil }
	d, err := decode.New(n, 1)
	if err != nil {
		t.Fatal(err)
	}
	return d, sizes, newest
}

func feed(t testing.TB, d *decode.Session, tokens ...int) []float64 {
	t.Helper()
	logits, err := d.Feed(tokens)
	if err != nil {
		t.Fatal(err)
	}
	return logits.Floats()
}

func sameLogits(t testing.TB, what string, got, want []float64) {
	t.Helper()
	if d := relative(got, want, 0); !(d <= 1e-12) {
		t.Errorf("%s: off by %.2g of the logits, want at most 1e-12", what, d)
	}
}

// Token by token the decoder returns the results of the full forward pass, also after the window has slid twice. By day
// TestBatchDecoder takes the attentions with adapters.
func TestDecoder(t *testing.T) {
	for name, c := range variants() {
		for _, kernels := range []bool{true, false} {
			if os.Getenv("NIGHTLY") == "" && (kernels != half(name) || quarter(name) > 1 ||
				strings.HasPrefix(name, "adapters, attention ")) {
				continue
			}
			t.Run(fmt.Sprintf("%s, kernels %v", name, kernels), func(t *testing.T) {
				m := model64(t, c, kernels, 1)
				f := newFull(t, m)
				d, _, newest := programs(t, m)
				if newest == strings.HasPrefix(name, "parts of our own") {
					t.Errorf("only the newest tokens are processed: %t", newest)
				}
				rng := rand.New(rand.NewPCG(2, 2))
				var window []int
				for i := range 2*c.BlockSize + 2 {
					if len(window) == c.BlockSize {
						window = window[(c.BlockSize+1)/2:]
					}
					window = append(slices.Clone(window), rng.IntN(c.VocabSize))
					got := feed(t, d, window[len(window)-1])
					sameLogits(t, fmt.Sprintf("token %d", i), got, f.last(t, window))
				}
			})
		}
	}
}

func TestDecoderPrompts(t *testing.T) {
	c := odd()
	m := model64(t, c, true, 3) // a batch as in training; the decoder has its own
	f, d := newFull(t, m), newDecoderOf(t, m)
	long := []int{5, 1, 4, 12, 0, 9, 2, 6, 5, 3, 8, 9, 7, 11, 10, 3}
	for n := 1; n <= len(long); n++ {
		d.Reset()
		kept := long[max(0, n-c.BlockSize):n]
		sameLogits(t, fmt.Sprintf("prompt of %d", n), feed(t, d, long[:n]...), f.last(t, kept))
	}

	// A prompt after others: it slides when the window is full.
	d.Reset()
	feed(t, d, long[:5]...)
	sameLogits(t, "5 tokens and 4 more", feed(t, d, long[5:9]...), f.last(t, long[4:9]))

	if _, err := d.Feed(); err == nil {
		t.Error("an empty prompt was accepted")
	}
	for _, id := range []int{-1, 13, 1 << 40, -1 << 63} {
		d.Reset()
		feed(t, d, long[:3]...)
		_, err := d.Feed([]int{4, id, 5})
		mustContain(t, err, "decoder", "token", fmt.Sprint(id), "0 … 12")
		sameLogits(t, "after a refused id", feed(t, d, long[3:5]...), f.last(t, long[:5]))
	}
}

// A decoder uses the present parameters, and does not change the model's own graph.
func TestDecoderSharesParameters(t *testing.T) {
	trainer := newTrainer(t, eventful())
	m := trainer.Model
	d := newDecoderOf(t, m)
	before := feed(t, d, 3)
	steps(t, trainer, 1)
	d.Reset()
	after := feed(t, d, 3)
	if slices.Equal(before, after) {
		t.Error("a step of training did not reach the decoder")
	}
	fresh := newDecoderOf(t, m)
	if !slices.Equal(feed(t, fresh, 3), after) {
		t.Error("two decoders of the same parameters differ")
	}
}

func TestGenerate(t *testing.T) {
	m := model64(t, odd(), true, 1)
	draw := func(seed uint64, prompt ...int) (ids []int, err error) {
		for id, err := range generate(t.Context(), newDecoderOf(t, m), prompt, 30, search.NewSampler(seed)) {
			if err != nil {
				return ids, err
			}
			ids = append(ids, id)
		}
		return ids, nil
	}
	first, err := draw(1, 3, 4)
	if err != nil || len(first) != 30 {
		t.Fatalf("got %d tokens (%v), want 30", len(first), err)
	}
	if again, _ := draw(1, 3, 4); !slices.Equal(again, first) {
		t.Error("the same seed wrote something else")
	}
	if other, _ := draw(2, 3, 4); slices.Equal(other, first) {
		t.Error("another seed wrote the same")
	}
	if _, err := draw(1); err == nil {
		t.Error("an empty prompt was accepted")
	}
	if _, err := draw(1, 13); err == nil {
		t.Error("a token outside the vocabulary was accepted")
	}

	// Greedy decoding chooses the likeliest tokens of the full forward pass.
	f, greedy := newFull(t, m), search.NewSampler(1)
	greedy.Temperature = 0
	window := []int{3}
	for id, err := range generate(t.Context(), newDecoderOf(t, m), window, 6, greedy) {
		if err != nil {
			t.Fatal(err)
		}
		logits := f.last(t, window)
		if logits[id] != slices.Max(logits) && !(slices.Max(logits)-logits[id] < 1e-12) {
			t.Errorf("after %v: token %d with logit %v, the largest is %v", window, id, logits[id], slices.Max(logits))
		}
		window = append(window, id)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	count := 0
	for _, err := range generate(ctx, newDecoderOf(t, m), []int{1}, 30, search.NewSampler(1)) {
		if count++; count == 3 {
			cancel()
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if count != 4 {
		t.Errorf("yielded %d times, want 3 tokens and an error", count)
	}
	for range generate(t.Context(), newDecoderOf(t, m), []int{1}, 30, search.NewSampler(1)) {
		break // must not go on
	}
}

// After a Step the stored keys and values belong to old weights. They are computed again, so that the decoder returns
// the same as a new one that reads the same text.
func TestFeedAfterStep(t *testing.T) {
	for _, attention := range []string{"", "mla", "linear"} {
		c := tiny()
		c.Attention = attention
		trainer := newTrainer(t, c)
		d := newDecoderOf(t, trainer.Model)
		batch, err := NewDecoder(trainer.Model, 2)
		if err != nil {
			t.Fatal(err)
		}
		text := []int{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5} // beyond the context
		var window []int
		for i, id := range text {
			if i%4 == 2 {
				steps(t, trainer, 1)
			}
			got := feed(t, d, id)
			rows, err := batch.Feed([]int{id}, []int{id})
			if err != nil {
				t.Fatal(err)
			}
			if len(window) == c.BlockSize {
				window = window[(c.BlockSize+1)/2:]
			}
			window = append(window, id)
			want := feed(t, newDecoderOf(t, trainer.Model), window...)
			for name, got := range map[string][]float64{"a decoder": got, "a batch": rows.Row(1).Floats()} {
				if e := relative(got, want, 0); !(e <= 1e-5) {
					t.Errorf("%q: %s, token %d: %v off a decoder that is new", attention, name, i, e)
				}
			}
		}
	}
}

// A prompt is fed by the largest runs of tokens that are shorter than what is left of it, and the rest one by one.
// The results are the same as for single tokens, also if the context has been full.
func TestPromptsAFewAtATime(t *testing.T) {
	const few = 32 // of package decode
	c := odd()
	c.BlockSize = 2*few + 12
	for name, change := range map[string]func(*Config){
		"causal": func(*Config) {}, "linear": func(c *Config) { c.Attention = "linear" },
		"long": func(c *Config) { c.BlockSize = 260 },
	} {
		c := c
		change(&c)
		m := model64(t, c, true, 1)
		d, slow := newDecoderOf(t, m), newDecoderOf(t, m)
		runs := []int{1, few + 6, 8, few}
		prompts := []int{few, few + 1, few + 6, few + 7, 2*few + 1, 2*few + 11, few + 3}
		if name == "long" {
			runs, prompts = []int{1, 130, 8, few, 128}, []int{128, 129, 131, 170, 9}
		}
		_, sizes, _ := programs(t, m)
		slices.Sort(sizes)
		if slices.Sort(runs); !slices.Equal(sizes, runs) {
			t.Fatalf("%s: %v tokens at once, want %v", name, sizes, runs)
		}
		for _, n := range prompts {
			ids := make([]int, n)
			for i := range ids {
				ids[i] = (i*i + n) % c.VocabSize
			}
			var want []float64
			for _, id := range ids {
				want = feed(t, slow, id)
			}
			sameLogits(t, fmt.Sprintf("%s, %d more tokens", name, n), feed(t, d, ids...), want)
		}
	}
	c.BlockSize = 2*few + 1
	_, sizes, _ := programs(t, model64(t, c, true, 1))
	if slices.Sort(sizes); !slices.Equal(sizes, []int{1, 8, few}) {
		t.Errorf("a context of %d: %v tokens at once, want 1, half of it, and 8", c.BlockSize, sizes)
	}
}

// A repetition penalty counts every token of the text: tokens of the prompt that have left the context, tokens fed by
// hand and tokens of earlier turns, but none of an earlier text.
func TestDecoderPenalisesTheCompleteText(t *testing.T) {
	for _, m := range []*Model{model64(t, odd(), true, 1), model64(t, ours(), true, 1)} { // cached, and rerun
		penal := func() *search.Sampler {
			s := search.NewSampler(4)
			s.RepetitionPenalty = 3
			return s
		}
		d, byHand := newDecoderOf(t, m), newDecoderOf(t, m)
		// text is prompt, and what is before it
		continued := func(prompt, text []int, n int, s *search.Sampler) (ids []int) {
			next := prompt
			for range n {
				z, err := byHand.Feed(next)
				if err != nil {
					t.Fatal(err)
				}
				id, err := s.Draw(z, text...)
				if err != nil {
					t.Fatal(err)
				}
				ids, text, next = append(ids, id), append(text, id), []int{id}
			}
			return ids
		}
		long := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2} // 11 of a context of 7
		feed(t, d, 11, 12)
		s, same := penal(), penal()
		got, want := drawn(t, generate(t.Context(), d, long, 20, s)), continued(long, long, 20, same)
		if !slices.Equal(got, want) {
			t.Errorf("a prompt of 11: wrote %v, want %v", got, want)
		}
		if again := drawn(t, proceed(t.Context(), d, []int{0}, 9, s)); !slices.Equal(again,
			continued([]int{want[19], 0}, slices.Concat(long, want, []int{0}), 9, same)) {
			t.Errorf("the next turn: wrote %v", again)
		}

		if err := d.Reset(); err != nil {
			t.Fatal(err)
		}
		if err := byHand.Reset(); err != nil {
			t.Fatal(err)
		}
		feed(t, d, 3, 4)
		feed(t, byHand, 3, 4)
		got = drawn(t, proceed(t.Context(), d, []int{5}, 9, penal()))
		want = continued([]int{5}, []int{3, 4, 5}, 9, penal())
		if !slices.Equal(got, want) {
			t.Errorf("behind what was fed: wrote %v, want %v", got, want)
		}
		plain := drawn(t, generate(t.Context(), d, []int{3, 4, 5}, 20, search.NewSampler(4)))
		if slices.Equal(plain, drawn(t, generate(t.Context(), d, []int{3, 4, 5}, 20, penal()))) {
			t.Error("the penalty changes nothing: the test shows little")
		}
	}
}

// After as many tokens as the context holds, a decoder does not depend on earlier ones.
func TestFeedAFullContext(t *testing.T) {
	m := model64(t, odd(), true, 1)
	text := make([]int, m.Config.BlockSize)
	for i := range text {
		text[i] = (3*i + 1) % m.Config.VocabSize
	}
	for before := range m.Config.BlockSize + 1 {
		d := newDecoderOf(t, m)
		for i := range before {
			feed(t, d, i%m.Config.VocabSize)
		}
		got := feed(t, d, text...)
		sameLogits(t, "a whole context, in use", got, feed(t, newDecoderOf(t, m), text...))
	}
}

// Decoding allocates nothing, also while the window slides.
func TestDecoderAllocatesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short runs the race detector, under which a sync.Pool forgets at random")
	}
	for _, threads := range []int{1, 2} {
		m := model32(t, threads, 16)
		d, batch, s := newDecoderOf(t, m), newBatchDecoderOf(t, m, 8), search.NewSampler(1)
		packed := newDecoderOf(t, mustPack(t, m, stored.Int8))
		s.TopK, s.TopP, s.MinP, s.RepetitionPenalty = 20, 0.9, 0.01, 1.2
		rows := make([][]int, 8)
		for b := range rows {
			rows[b] = []int{b}
		}
		next := 0
		for name, f := range map[string]func() error{
			"a token": func() error { _, err := d.Feed([]int{3}); return err },
			"a token drawn and fed": func() error {
				logits, err := d.Feed([]int{next})
				if err == nil {
					next, err = s.Draw(logits, 3, 64, 3)
				}
				return err
			},
			"a token with packed weights": func() error { _, err := packed.Feed([]int{3}); return err },
			"a batch":                     func() error { _, err := batch.Feed(rows...); return err },
		} {
			t.Run(fmt.Sprintf("%s, %d threads", name, threads), func(t *testing.T) {
				for range 20 { // the first ones allocate buffers that are reused
					if err := f(); err != nil {
						t.Fatal(err)
					}
				}
				if n := testing.AllocsPerRun(40, func() { _ = f() }); n != 0 {
					t.Errorf("%v allocations, want none", n)
				}
			})
		}
	}
}
