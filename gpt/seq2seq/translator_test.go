package seq2seq

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
)

func translatorOf(t *testing.T, m *Model, sources, beams int) *Translator {
	t.Helper()
	w, err := NewTranslator(m, sources, beams)
	check(t, err)
	return w
}

// The Translator's logits, token by token from kept keys and values, equal the logits of the model's full pass, which
// drops nothing and does not depend on kernels; its beams are independent. In float32 they are the same but for
// rounding.
func TestTranslatorEqualsModel(t *testing.T) {
	changes := map[string]func(*Config){
		"pre, dropout":  func(c *Config) { c.Block, c.Position, c.Dropout = "pre", "learned", 0.4 },
		"post, rope":    func(c *Config) { c.Block, c.Position = "post", "rope" },
		"one block":     func(c *Config) { c.NLayer, c.Position = 1, "sinusoidal" },
		"alibi":         func(c *Config) { c.Position, c.Norm = "alibi", "layernorm_plain" },
		"gated":         func(c *Config) { c.Norm, c.MLP, c.Activation = "rmsnorm", "swiglu", "" },
		"stock":         func(c *Config) { c.Kernels = false },
		"stock, window": func(c *Config) { c.Kernels, c.Attention = false, "window"; c.Options.Set("window", 2) },
	}
	for _, a := range (Config{}).attentions() {
		changes[a.String()] = func(c *Config) { c.Attention = a.String(); c.Options.Offer("window", 2) }
	}
	for name, change := range changes {
		for _, dtype := range []graph.Dtype{graph.Float64, graph.Float32} {
			c := small()
			change(&c)
			pairs := []Pair{{[]int{4, 5, 6, 7}, []int{5, 6, 4, 9, 8}}, {[]int{8, 4}, []int{9, 5, 5, 6, 4}}}
			if c.Attention == "linformer" {
				pairs[0].Source, pairs[1].Source = []int{4, 5, 6, 7, 8}, []int{8, 4, 4, 5, 6}
			}
			g := graph.New(dtype, 5)
			g.Kernels = c.Kernels
			m := modelOn(t, g, c, 2)
			g.SetTraining(false)
			check(t, m.Fill(pairs))
			p, err := graph.Compile(m.Logits)
			check(t, err)
			check(t, p.Run())
			g.SetTraining(true) // a Translator drops nothing
			want, tolerance := p.Value().Clone(), 1e-12
			if dtype == graph.Float32 {
				tolerance = 1e-4
			}
			w := translatorOf(t, m, 2, 3)
			check(t, w.Search([][]int{pairs[0].Source, pairs[1].Source}, func(p search.Predictor, n int) error {
				var tokens []int // Begin
				for at := range 6 {
					got, err := p.Step(tokens)
					check(t, err)
					for i, row := range []int{1, 5} { // the targets are beam 1 of source 0 and beam 2 of source 1
						for j := range c.TargetVocab {
							a, b := got.Row(row).At(j), want.Row(i*c.TargetSize+at).At(j)
							if !(math.Abs(a-b) <= tolerance*max(1, math.Abs(b))) {
								t.Fatalf("%s: source %d, token %d, logit %d: got %v, want %v", name, i, at, j, a, b)
							}
						}
					}
					if at == 2 { // the hypotheses move, and others take their slots
						for _, fork := range [][2]int{{1, 0}, {0, 1}, {5, 3}, {3, 5}} {
							p.Fork(fork[0], fork[1])
						}
					}
					tokens = []int{4, pairs[0].Target[min(at, 4)], 5, 6, 7, pairs[1].Target[min(at, 4)]}
				}
				if n != 2 || p.Sources() != 2 || p.Beams() != 3 || !p.Ends(End) || p.Ends(Begin) {
					t.Errorf("%d of %d sources, %d beams, ends with End: %t", n, p.Sources(), p.Beams(), p.Ends(End))
				}
				return nil
			}))
		}
	}
}

// Fork copies: later changes of the copy do not affect the original.
func TestTranslatorForkCopies(t *testing.T) {
	w := translatorOf(t, modelOn(t, graph.New(graph.Float64, 5), small(), 1), 1, 2)
	logits := func(fork bool, tokens ...[]int) (out graph.Tensor) {
		check(t, w.Search([][]int{{4, 5, 6}}, func(p search.Predictor, _ int) (err error) {
			for i, step := range tokens {
				if fork && i == 2 {
					p.Fork(0, 1)
				}
				out, err = p.Step(step)
				check(t, err)
			}
			return nil
		}))
		return out.Clone()
	}
	want := logits(false, nil, []int{5, 5}, []int{6, 8})
	if diff := cmp.Diff(want, logits(true, nil, []int{5, 9}, []int{6, 8})); diff != "" {
		t.Error(diff)
	}
}

// On a model that has learned a little, one beam is greedy, and more beams find likelier texts if they differ at all.
// A rank that prefers short texts finds the empty text first, one that prefers long texts the longest.
func TestI53OnAModel(t *testing.T) {
	tr := begun(t, small())
	steps(t, tr, 60)
	var sources [][]int
	for i := range 30 {
		p, _ := backwards{}.Pair(10_000 + i)
		sources = append(sources, p.Source)
	}
	found, greedy := map[int][][]search.Hypothesis{}, map[int][]search.Hypothesis{}
	for _, beams := range []int{1, 4} {
		w := translatorOf(t, tr.Model, 7, beams) // 30 is not a multiple of 7
		var err error
		found[beams], err = w.Beam(t.Context(), sources, nil)
		check(t, err)
		greedy[beams], err = w.Greedy(t.Context(), sources)
		check(t, err)
		if len(found[beams]) != len(sources) || len(greedy[beams]) != len(sources) {
			t.Fatalf("%d and %d translations of %d sources", len(found[beams]), len(greedy[beams]), len(sources))
		}
	}
	better := 0
	for i := range sources {
		g, one, b := greedy[1][i], found[1][i][0], found[4][i][0]
		if diff := cmp.Diff(g, one); diff != "" {
			t.Errorf("source %d: one beam is not greedy: %s", i, diff)
		}
		if !slices.Equal(g.Tokens, greedy[4][i].Tokens) {
			t.Errorf("source %d: greedy beside four beams gives %v, with one %v", i, greedy[4][i].Tokens, g.Tokens)
		}
		if !(b.LogProb >= g.LogProb-1e-5) {
			t.Errorf("source %d: four beams have ln p = %v, greedy %v", i, b.LogProb, g.LogProb)
		}
		if b.LogProb > g.LogProb+1e-3 {
			better++
		}
	}
	if better == 0 {
		t.Error("four beams are nowhere better than one")
	}
	m, err := New(graph.New(graph.Float64, 5), small(), 1)
	check(t, err)
	w := translatorOf(t, m, 2, 4)
	for sign, want := range map[float64]int{-1: 0, 1: small().TargetSize} {
		ranked, err := w.Beam(t.Context(), [][]int{{4, 5}, {6}, {7, 8}}, func(logProb float64, n int) float64 {
			return logProb + sign*100*float64(n)
		})
		check(t, err)
		for i, list := range ranked {
			if got := len(list[0].Tokens); got != want {
				t.Errorf("source %d: got %d tokens, want %d", i, got, want)
			}
		}
	}
}

// A Translator of a wrong model or with impossible numbers is an error before anything is allocated. So are sources
// and tokens that do not fit, a second caller, a fork of nothing, and a Predictor after its search.
func TestTranslatorRefuses(t *testing.T) {
	m := modelOn(t, graph.New(graph.Float64, 1), small(), 1)
	for _, tc := range []struct {
		m              *Model
		sources, beams int
		says           string
	}{
		{nil, 1, 1, "model: got nil"},
		{&Model{}, 1, 1, "no graph"},
		{m, 1, 0, "got 1 sources and 0 beams, want 1 or more of each"},
		{m, -1, 2, "got -1 sources and 2 beams"},
		{m, 1, 1 << 40, "sources 1, beams 1099511627776"},
		{m, 1 << 40, 1 << 40, "sources 1099511627776"},
	} {
		mustSay(t, second(NewTranslator(tc.m, tc.sources, tc.beams)), "translator: ", tc.says)
	}
	for _, w := range []*Translator{nil, {}} {
		mustSay(t, second(w.Greedy(t.Context(), [][]int{{4}})), "NewTranslator")
		mustSay(t, second(w.Beam(t.Context(), [][]int{{4}}, nil)), "NewTranslator")
	}
	w, calls := translatorOf(t, m, 2, 2), 0
	mustSay(t, w.Search([][]int{{4}}, nil), "translator: the search is nil")
	for _, tc := range []struct {
		source []int
		want   string
	}{
		{nil, "translator: pair 1: the source has 0 tokens, source_size is 5"},
		{[]int{4, 4, 4, 4, 4, 4}, "the source has 6 tokens, source_size is 5"},
		{[]int{9}, "translator: source[5] is 9, not in 0 … 8"},
		{[]int{-1}, "source[5] is -1"},
	} {
		mustSay(t, second(w.Greedy(t.Context(), [][]int{{4}, tc.source})), tc.want)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	mustSay(t, second(w.Greedy(ended, [][]int{{4}})), "context canceled")
	mustSay(t, second(w.Beam(ended, [][]int{{4}}, nil)), "context canceled")
	var late search.Predictor
	check(t, w.Search([][]int{{4}, {5}, {6}}, func(p search.Predictor, n int) error {
		if calls++; n != []int{2, 1}[calls-1] {
			t.Errorf("call %d: got %d sources", calls, n)
		}
		late = p
		mustSay(t, second(w.Greedy(t.Context(), [][]int{{4}})), "in use by another goroutine")
		mustSay(t, second(p.Step([]int{Begin})), "translator: got 1 tokens, want 4 for 2 sources and 2 beams")
		mustSay(t, second(p.Step([]int{Begin, -7, 4, 4})), "is -7, not in 0 … 9")
		for range small().TargetSize {
			check(t, second(p.Step(nil)))
		}
		mustSay(t, second(p.Step(nil)), "translator: token 8 of a target, target_size is 7")
		p.Fork(0, 7)
		p.Fork(0, 8)
		mustSay(t, second(p.Step(nil)), "translator: ", "7")
		return nil
	}))
	mustSay(t, second(late.Step(nil)), "the search has ended")
}

// A Translator keeps keys and values of all heads, the logits and tokens of each hypothesis, and the memory for reading
// a source: a limit of that size is enough to translate, a smaller one is refused.
func TestTranslatorLimit(t *testing.T) {
	m := modelOn(t, graph.New(graph.Float32, 1), small(), 2)
	// 5 → 7 tokens, 2 layers of 2 heads with 8 + 8 features, 16 wide, 64 within
	const token, read = 2 * 2 * (8 + 8), 5 + 7 + 4*16 + 2*64
	const source, beam = 5*(token+read) + 7*16, 7*token + 5 + 10 + hypothesisSize
	for _, c := range []struct{ sources, beams int }{{1, 1}, {3, 1}, {2, 5}} {
		bytes := int64(4 * c.sources * (source + c.beams*beam))
		m.Graph.SetMemoryLimit(bytes - 1)
		mustSay(t, second(NewTranslator(m, c.sources, c.beams)), "for the keys and values of sources")
		m.Graph.SetMemoryLimit(bytes)
		check(t, checkTranslator(m, c.sources, c.beams))
	}
	for limit := int64(1 << 9); limit < 1<<22; limit *= 2 {
		m.Graph.SetMemoryLimit(limit)
		if w, err := NewTranslator(m, 1, 2); err == nil {
			check(t, second(w.Greedy(t.Context(), [][]int{{5, 4, 6}})))
		} else if limit == 1<<21 {
			t.Errorf("a limit of %d bytes: %v", limit, err)
		}
	}
}

// Translations during training each have the weights of a single step.
func TestWeightsOfOneStep(t *testing.T) {
	c := small()
	c.NEmbd, c.BatchSize = 64, 2
	tr := begun(t, c)
	w := translatorOf(t, tr.Model, 1, 2)
	translated := func() string {
		found, err := w.Beam(context.Background(), [][]int{{5, 6, 4}}, nil)
		check(t, err)
		return fmt.Sprint(found[0][0].Tokens, found[0][0].LogProb)
	}
	known := map[string]bool{translated(): true}
	begin, begun, done := make(chan bool), make(chan bool), make(chan error, 1)
	go func() {
		for range begin {
			begun <- true
			_, err := tr.Step()
			done <- err
		}
	}()
	var texts []string
	for range 30 {
		begin <- true
		<-begun
		texts = append(texts, translated())
		check(t, <-done)
		known[translated()] = true
	}
	close(begin)
	if torn := slices.DeleteFunc(texts, func(s string) bool { return known[s] }); len(torn) > 0 {
		t.Errorf("%d of 30 have weights that the run never had", len(torn))
	}
}

// Both sides of a model find their parts.
func TestAttentions(t *testing.T) {
	own := parts.Attention{Name: "own"}
	list := Config{Parts: parts.Registry{Attentions: []parts.Attention{own}}}.attentions()
	if len(list) != 6 || list[0].Name != "own" || (Config{}).attention().Name != "full" {
		t.Errorf("got %v, and by default %s", list, (Config{}).attention().Name)
	}
}

// A model with more logits than its target's vocabulary has tokens writes none of the others, once it is opened or
// resumed; a search sees only these.
func TestDrawnTokens(t *testing.T) {
	c := small()
	c.TargetVocab, c.SourceVocab = 300, 300
	tr, err := NewTrainer(c, backwards{})
	check(t, err)
	v := abc(t, "de")
	cp := saved(t, tr, v, "", nil)
	opened, _, err := LoadModel(cp)
	check(t, err)
	resumed, err := Resume(c, backwards{}, v, v, cp)
	check(t, err)
	for name, m := range map[string]*Model{"opened": opened, "resumed": resumed.Model} {
		w := translatorOf(t, m, 2, 3)
		greedy, err := w.Greedy(t.Context(), [][]int{{4, 5}, {6}})
		check(t, err)
		beams, err := w.Beam(t.Context(), [][]int{{4, 5}, {6}}, nil)
		check(t, err)
		for _, h := range slices.Concat(greedy, beams[0], beams[1]) {
			if slices.ContainsFunc(h.Tokens, func(id int) bool { return id >= v.Size() }) {
				t.Errorf("%s: wrote %v, want tokens below %d", name, h.Tokens, v.Size())
			}
		}
	}
}
