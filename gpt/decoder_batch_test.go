package gpt

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/service"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func newBatchDecoderOf(t testing.TB, m *Model, batch int) *decode.Session {
	t.Helper()
	d, err := NewDecoder(m, batch)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Every sequence of a batch is read and continued as if it were alone, including prompts and sliding windows. By day
// attentions have adapters here, and none in TestDecoder.
func TestBatchDecoder(t *testing.T) {
	const batch = 3
	list := variants()
	for name, c := range list {
		_, twin := list["adapters, "+name]
		for _, kernels := range []bool{true, false} {
			if os.Getenv("NIGHTLY") == "" && (twin || kernels == half(name) || quarter(name) < 2) {
				continue
			}
			t.Run(fmt.Sprintf("%s, kernels %v", name, kernels), func(t *testing.T) {
				m := model64(t, c, kernels, 2)
				d := newBatchDecoderOf(t, m, batch)
				single := newDecoderOf(t, m)
				rng := rand.New(rand.NewPCG(5, 5))
				for round, lengths := range [][]int{{1, 1, 1, 1, 1, 1, 1, 1, 1}, {4, 1, 5}, {7, 1}, {20, 2}} {
					rows, want := [][][]int{}, make([][][]float64, batch)
					for _, n := range lengths {
						rows = append(rows, someRows(rng, batch, n, c.VocabSize))
					}
					for b := range batch {
						single.Reset()
						for _, r := range rows {
							want[b] = append(want[b], feed(t, single, r[b]...))
						}
					}
					d.Reset()
					for i, r := range rows {
						logits, err := d.Feed(r...)
						if err != nil {
							t.Fatal(err)
						}
						if s := logits.Shape; len(s) != 2 || s[0] != batch || s[1] != c.VocabSize {
							t.Fatalf("logits of shape %v, want (%d, %d)", s, batch, c.VocabSize)
						}
						for b := range batch {
							sameLogits(
								t, fmt.Sprintf("round %d, step %d, sequence %d", round, i, b), logits.Row(b).Floats(),
								want[b][i],
							)
						}
					}
				}
				// Prompts of different lengths, some longer than the context, beyond which all texts continue.
				generatesAlone(t, c, d, single, map[bool][]int{true: {1, 4, 9}, false: {20, 3, 2}}[kernels]...)
				beamsAlone(t, d, single)
			})
		}
	}
}

// TestServiceWritesAsSessions: clients that come and go get the texts that a Session of one row writes, with every
// variant that decodes token by token. The others are refused. By day attentions have adapters, and every second
// variant is tried.
func TestServiceWritesAsSessions(t *testing.T) {
	list := variants()
	for name, c := range list {
		if _, twin := list["adapters, "+name]; os.Getenv("NIGHTLY") == "" && (twin || half(name)) {
			continue
		}
		m := model64(t, c, true, 1)
		rng := rand.New(rand.NewPCG(6, 6))
		prompts := append(someRows(rng, 3, max(1, c.BlockSize/2), c.VocabSize), someRows(rng, 2, 1, c.VocabSize)...)
		servesAlone(t, name, m, append(prompts, prompts[0][:1]))
	}
}

// servesAlone compares the texts that a service of two lanes writes after prompts with the texts of a Session of one
// row.
func servesAlone(t *testing.T, name string, m *Model, prompts [][]int) {
	t.Helper()
	s, err := served(m, 2, 9)
	single := newDecoderOf(t, m)
	if err != nil {
		mustContain(t, err, "it has no Step")
		return
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	greedy := func() *search.Sampler { g := search.NewSampler(1); g.Temperature = 0; return g }
	var group sync.WaitGroup
	got := make([][]int, len(prompts))
	for i, prompt := range prompts {
		group.Go(func() {
			r := service.Request{Prompt: prompt, Tokens: 2 + i%3, Sampler: greedy()}
			for d, err := range s.Generate(ctx, r) {
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				got[i] = append(got[i], d.ID)
			}
		})
	}
	group.Wait()
	stop()
	<-done
	for i, prompt := range prompts {
		n := min(2+i%3, m.Config.BlockSize-len(prompt)+1)
		var want []int
		for token, err := range single.Generate(t.Context(), [][]int{prompt}, n, []*search.Sampler{greedy()}) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, token.ID)
		}
		if !slices.Equal(got[i], want) {
			t.Errorf("%s, prompt %v: got %v, want %v", name, prompt, got[i], want)
		}
	}
}

// Attention in a window decodes with caches of the window, of which StateBytes tells the size, and with the bits of
// caches of the whole context: with prompts in pieces longer than the window, after the context has slid, in a beam,
// and in a service whose texts begin alike.
func TestWindowsBoundCaches(t *testing.T) {
	for name, tc := range map[string]struct {
		attention string
		options   map[string]int
		tokens    int // for which the two blocks have room together
	}{
		"window":       {"window", map[string]int{"window": 5}, 2 * 96},
		"first tokens": {"window", map[string]int{"window": 20, "sink_tokens": 3}, 2 * (16 + 112)},
		"alternating":  {"alternating", map[string]int{"window": 5, "sink_tokens": 1}, 16 + 96 + 230},
		"groups":       {"gqa_window", map[string]int{"window": 5, "n_kv_head": 1}, 2 * 96},
		"causal":       {"causal", nil, 2 * 230},
	} {
		t.Run(name, func(t *testing.T) {
			c := odd()
			c.BlockSize, c.Attention, c.Position, c.QKSize = 230, tc.attention, "rope", 4
			for name, n := range tc.options {
				c.Options.Set(name, n)
			}
			m := model64(t, c, true, 1)
			groups := 2
			if tc.attention == "gqa_window" {
				groups = 1
			}
			if got, err := m.StateBytes(); err != nil || int(got) != 4*tc.tokens*groups*(4+4) {
				t.Errorf("got %d bytes (%v), want those of %d tokens", got, err, tc.tokens)
			}
			d, whole := newBatchDecoderOf(t, m, 3), wholeCaches(t, m, groups, 3)
			rng := rand.New(rand.NewPCG(2, 8))
			for i, n := range []int{150, 1, 3, 1, 40, 1, 1, 200, 1} {
				rows := someRows(rng, 3, n, c.VocabSize)
				got, err := d.Feed(rows...)
				want, wrong := whole.Feed(rows...)
				if err != nil || wrong != nil || !slices.Equal(got.Floats(), want.Floats()) {
					t.Fatalf(
						"%d tokens in step %d: got %v (%v), want %v (%v)", n, i, got.Floats()[:3], err,
						want.Floats()[:3], wrong,
					)
				}
			}
			prompt := someRows(rng, 1, 180, c.VocabSize)[0]
			got, err := d.Beam(t.Context(), prompt, 9, search.LengthPenalty(1), 11)
			want, wrong := whole.Beam(t.Context(), prompt, 9, search.LengthPenalty(1), 11)
			if err != nil || wrong != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("beam: got %v (%v), want %v (%v)", got, err, want, wrong)
			}
			if name == "first tokens" {
				longer := append(slices.Clone(prompt), someRows(rng, 1, 30, c.VocabSize)[0]...)
				servesAlone(t, name, m, [][]int{longer, prompt, longer[:20], prompt[:179], longer[:200], prompt[:60]})
			}
		})
	}
}

// wholeCaches returns a Session of m whose attentions keep all tokens.
func wholeCaches(t *testing.T, m *Model, groups, batch int) *decode.Session {
	n := m.network()
	build := n.Build
	n.Build = func(s graph.Scope, batch int, positions graph.Expr, shared nn.Caches) decode.Layers {
		c := m.Config
		for block := range c.NLayer {
			name := fmt.Sprintf("h.%d.attn", block)
			if shared[name] == nil {
				shared[name] = fused.NewKVCache(fused.AttentionShape{
					Batch: batch, Context: c.BlockSize, Heads: c.NHead, QK: c.QKSize, V: c.VSize, Groups: groups,
				})
			}
		}
		l := build(s, batch, positions, shared)
		if len(shared) != c.NLayer {
			t.Errorf("got %d caches, want %d", len(shared), c.NLayer)
		}
		return l
	}
	d, err := decode.New(n, batch)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func someRows(rng *rand.Rand, batch, n, vocab int) [][]int {
	rows := make([][]int, batch)
	for b := range rows {
		for range n {
			rows[b] = append(rows[b], rng.IntN(vocab))
		}
	}
	return rows
}

func TestBatchDecoderErrors(t *testing.T) {
	m := model64(t, odd(), true, 1)
	for _, batch := range []int{0, -1} {
		_, err := NewDecoder(m, batch)
		mustContain(t, err, "batch", fmt.Sprint(batch))
	}
	d, single := newBatchDecoderOf(t, m, 2), newDecoderOf(t, m)
	if _, err := d.Feed([]int{1, 2}, []int{3, 4}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		rows [][]int
		says []string
	}{
		{nil, []string{"0 rows", "2"}},
		{[][]int{{1}}, []string{"1 rows", "2"}},
		{[][]int{{1}, {2, 3}}, []string{"2 tokens", "row 1", "1 in row 0"}},
		{[][]int{{}, {}}, []string{"0 tokens", "row 0"}},
		{[][]int{{1, 2}, {3, 13}}, []string{"row 1", "token 1", "13", "0 … 12"}},
		{[][]int{{-1}, {3}}, []string{"row 0", "token 0", "-1"}},
	} {
		_, err := d.Feed(bad.rows...)
		mustContain(t, err, append(bad.says, "decoder")...)
	}
	logits, err := d.Feed([]int{5}, []int{6})
	if err != nil {
		t.Fatal(err)
	}
	sameLogits(t, "after refused rows", logits.Row(1).Floats(), feed(t, single, 3, 4, 6))
}

// With float32 and threads, the rows of a batch do not depend on the number of threads.
func TestBatchDecoderThreads(t *testing.T) {
	var want []float64
	for _, threads := range []int{1, 2, 3} {
		m := model32(t, threads, 64)
		d := newBatchDecoderOf(t, m, 8)
		var logits graph.Tensor
		for i := range 10 {
			var err error
			if logits, err = d.Feed(
				[]int{i}, []int{1}, []int{2}, []int{3}, []int{4}, []int{5}, []int{6}, []int{7},
			); err != nil {
				t.Fatal(err)
			}
		}
		if want == nil {
			want = logits.Floats()
		}
		for i, x := range logits.Floats() {
			if x != want[i] {
				t.Fatalf("%d threads: logit %d is %v, with 1 thread %v", threads, i, x, want[i])
			}
		}
	}
}

// model32 returns a network large enough for products to be shared by threads.
func model32(t testing.TB, threads, context int) *Model {
	t.Helper()
	g := graph.New(graph.Float32, 1)
	g.Kernels = true
	g.SetThreads(threads)
	var c Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd, c.Bias = context, 65, 2, 4, 256, true
	m, err := New(g, c, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// samplersOf returns n samplers with different settings and seeds.
func samplersOf(n int) (list []*search.Sampler) {
	for i := range n {
		s := search.NewSampler(uint64(i + 1))
		switch i % 4 {
		case 1:
			s.RepetitionPenalty, s.MinP = 1.4, 0.05
		case 2:
			s.TopK, s.TopP, s.RepetitionPenalty = 9, 0.9, 0.7
		case 3:
			s.Temperature, s.RepetitionPenalty = 0, 2
		}
		list = append(list, s)
	}
	return list
}

// alone returns the text that a Decoder generates after a prompt, and the ln p of its tokens.
func alone(
	t testing.TB, d *decode.Session, prompt []int, n int, s *search.Sampler, stop ...int,
) (ids []int, logProbs []float64) {
	t.Helper()
	for id, err := range generate(t.Context(), d, prompt, n, s) {
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(stop, id) {
			break
		}
		ids, logProbs = append(ids, id), append(logProbs, s.LogProb())
	}
	return ids, logProbs
}

// generatesAlone compares the texts of a batch after prompts of these lengths with those that are generated alone.
// Tokens are equal, and so are all bits of their probabilities, unless an attention adds up several tokens in another
// order than single ones, or the compiler may fuse a product and a sum on this processor.
func generatesAlone(t *testing.T, c Config, d *decode.Session, single *decode.Session, lengths ...int) {
	t.Helper()
	const n = 9
	rng := rand.New(rand.NewPCG(6, 6))
	var prompts [][]int
	for _, length := range lengths {
		prompts = append(prompts, someRows(rng, 1, length, c.VocabSize)[0])
	}
	got, logProbs, samplers := make([][]int, len(prompts)), make([][]float64, len(prompts)), samplersOf(len(prompts))
	for token, err := range d.Generate(t.Context(), prompts, n, samplers, 11, 12) {
		if err != nil {
			t.Fatal(err)
		}
		b := token.Row
		got[b], logProbs[b] = append(got[b], token.ID), append(logProbs[b], samplers[b].LogProb())
	}
	for b, s := range samplersOf(len(prompts)) {
		want, lp := alone(t, single, prompts[b], n, s, 11, 12)
		if !slices.Equal(got[b], want) {
			t.Errorf("prompt %v: wrote %v, alone %v", prompts[b], got[b], want)
			continue
		}
		tolerance := 0.0
		// sums of several tokens
		chunked := []string{
			"linear", "taylor", "gla", "gated_deltanet", "gated_deltanet_neg_eigval", "retnet", "deltanet",
			"deltanet_neg_eigval", "kda", "mamba2",
		}
		sums := func(name string) bool { return slices.Contains(chunked, name) }
		if slices.ContainsFunc(c.Attentions(), sums) || runtime.GOARCH != "amd64" {
			tolerance = 1e-12
		}
		for i := range want {
			if !(math.Abs(logProbs[b][i]-lp[i]) <= tolerance) {
				t.Errorf("prompt %v, token %d: ln p is %v, alone %v", prompts[b], i, logProbs[b][i], lp[i])
			}
		}
	}
}

func TestBatchGenerateInFloat32(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float32, 3)
		g.Kernels = kernels
		m, err := New(g, odd(), 1)
		if err != nil {
			t.Fatal(err)
		}
		scramble(m.Params(), 4)
		generatesAlone(t, m.Config, newBatchDecoderOf(t, m, 4), newDecoderOf(t, m), 3, 9, 1, 5)
	}
}

// Rows advance together, each until its end; a row that ends does not end the others.
func TestBatchGenerateOrder(t *testing.T) {
	m := model64(t, odd(), true, 1)
	d, single := newBatchDecoderOf(t, m, 3), newDecoderOf(t, m)
	prompts := [][]int{{1, 2, 3}, {4}, {5, 6}}
	var want []decode.Token
	rows := make([][]int, 3)
	for b, prompt := range prompts {
		rows[b], _ = alone(t, single, prompt, 4, search.NewSampler(uint64(b)))
	}
	stop := rows[1][1]
	for b := range rows {
		if at := slices.Index(rows[b], stop); at >= 0 {
			rows[b] = rows[b][:at]
		}
	}
	for step := range 6 { // row 0 draws its first token when row 1 draws its third
		for b, prompt := range prompts {
			if i := step + 1 - len(prompt); i >= 0 && i < len(rows[b]) {
				want = append(want, decode.Token{Row: b, ID: rows[b][i]})
			}
		}
	}
	generate := func() (got []decode.Token) {
		for token, err := range d.Generate(
			t.Context(), prompts, 4,
			[]*search.Sampler{search.NewSampler(0), search.NewSampler(1), search.NewSampler(2)}, stop,
		) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, token)
		}
		return got
	}
	if got := generate(); !slices.Equal(got, want) || len(want) < 3 {
		t.Errorf("got %v, want %v", got, want)
	}
	for range d.Generate(t.Context(), prompts, 4, samplersOf(3)) {
		break // unlocks the decoder for the next call
	}
	if got := generate(); !slices.Equal(got, want) {
		t.Errorf("after another was broken off: got %v, want %v", got, want)
	}
	for token, err := range d.Generate(t.Context(), prompts, 0, samplersOf(3)) {
		t.Errorf("of no tokens: got %v (%v)", token, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	count := 0
	for _, err := range d.Generate(ctx, prompts, 9, samplersOf(3)) {
		if count++; count == 2 {
			mustContain(t, err, "generate", "canceled")
		} else if err != nil {
			t.Error(err)
		}
		cancel()
	}
	if count != 2 { // the row that is drawn from first, and the error
		t.Errorf("yielded %d times, want 1 token and an error", count)
	}
}

// Invalid arguments are an error with the row before anything is discarded.
func TestBatchGenerateRefuses(t *testing.T) {
	m := model64(t, odd(), true, 1)
	d, single := newBatchDecoderOf(t, m, 2), newDecoderOf(t, m)
	bad := search.NewSampler(1)
	bad.MinP = 2
	ctx, prompts, ok := t.Context(), [][]int{{1}, {2, 3}}, samplersOf(2)
	if _, err := d.Feed([]int{5}, []int{6}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		ctx      context.Context
		prompts  [][]int
		n        int
		samplers []*search.Sampler
		stop     []int
		says     []string
	}{
		{nil, prompts, 1, ok, nil, []string{"context", "nil"}},
		{ctx, prompts, -1, ok, nil, []string{"tokens: got -1"}},
		{ctx, prompts[:1], 1, ok, nil, []string{"1 prompts and 2 samplers", "want 2"}},
		{ctx, nil, 1, ok, nil, []string{"0 prompts and 2 samplers", "want 2"}},
		{ctx, prompts, 1, ok[:1], nil, []string{"2 prompts and 1 samplers", "want 2"}},
		{ctx, prompts, 1, append(slices.Clone(ok), ok...), nil, []string{"2 prompts and 4 samplers", "want 2"}},
		{ctx, [][]int{{1}, {}}, 1, ok, nil, []string{"row 1: prompt: got 0 tokens"}},
		{ctx, [][]int{{1}, {2, 13}}, 1, ok, nil, []string{"row 1: token 1 is 13", "0 … 12"}},
		{ctx, prompts, 1, []*search.Sampler{ok[0], nil}, nil, []string{"row 1: sampler: got nil"}},
		{ctx, prompts, 1, []*search.Sampler{bad, ok[0]}, nil, []string{"row 0: min_p: got 2"}},
		{ctx, prompts, 1, ok, []int{3, -1}, []string{"stop: token 1 is -1", "0 … 12"}},
		{ctx, prompts, 1, ok, []int{math.MaxInt}, []string{"stop: token 0"}},
	} {
		n := 0
		for _, err := range d.Generate(tc.ctx, tc.prompts, tc.n, tc.samplers, tc.stop...) {
			n++
			mustContain(t, err, append(tc.says, "generate")...)
		}
		if n != 1 {
			t.Errorf("%v: yielded %d times, want once", tc.says, n)
		}
	}
	logits, err := d.Feed([]int{7}, []int{8})
	if err != nil {
		t.Fatal(err)
	}
	sameLogits(t, "after refusals", logits.Row(1).Floats(), feed(t, single, 6, 8))

	for _, d := range []*decode.Session{nil, {}} {
		for _, err := range d.Generate(ctx, prompts, 1, ok) {
			mustContain(t, err, "decoder", "NewDecoder")
		}
	}
	broken := search.NewSampler(1)
	for token, err := range d.Generate(ctx, prompts, 3, []*search.Sampler{ok[0], broken}) {
		if token.Row == 1 && err != nil {
			mustContain(t, err, "generate: row 1: temperature: got NaN")
			break
		}
		broken.Temperature = math.NaN() // while it is in use
		_, err := d.Feed([]int{1}, []int{2})
		mustContain(t, err, "decoder: in use")
		for _, err := range d.Generate(ctx, prompts, 1, samplersOf(2)) {
			mustContain(t, err, "decoder: in use")
		}
	}
	if err := d.Reset(); err != nil {
		t.Error(err)
	}
}
