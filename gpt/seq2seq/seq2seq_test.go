package seq2seq

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/internal/heap"
)

// small returns a model that learns to write a source backwards.
func small() Config {
	return Config{
		Stack:      parts.Stack{NLayer: 2, NHead: 2, NEmbd: 16, Bias: true},
		SourceSize: 5, TargetSize: 7, SourceVocab: 9, TargetVocab: 10,
		Training: train.Training{
			BatchSize: 12, GradientAccumulationSteps: 1, LearningRate: 5e-3, DecayLR: true, WarmupIters: 5, Beta1: .9,
			Beta2: .99, GradClip: 1,
			Seed: 3, Kernels: true,
		},
		Run: train.Run{MaxIters: 60, EvalInterval: 1, EvalIters: 1, LogInterval: 1, Threads: 1},
	}
}

// backwards is a list of pairs of a source with 1 to 5 tokens and its mirror image.
type backwards struct{}

func (backwards) Len() int { return 4000 }

func (backwards) Pair(i int) (p Pair, err error) {
	rng := rand.New(rand.NewPCG(uint64(i), 1))
	for range 1 + i%5 {
		p.Source = append(p.Source, int(specials)+rng.IntN(5))
	}
	p.Target = slices.Clone(p.Source)
	slices.Reverse(p.Target)
	return p, nil
}

func newTrainer(t testing.TB, c Config) *Trainer {
	t.Helper()
	tr, err := NewTrainer(c, backwards{})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return tr
}

// filesOf returns the files of a checkpoint.
func filesOf(t testing.TB, tr *Trainer, source, target *Vocabulary) []checkpoint.File {
	t.Helper()
	files, err := tr.Files(source, target)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func steps(t *testing.T, tr *Trainer, n int) (losses []float64) {
	t.Helper()
	for range n {
		p, err := tr.Step()
		if err != nil {
			t.Fatal(err)
		}
		losses = append(losses, p.Loss)
	}
	return losses
}

// Training learns, in every arrangement; a second run with the same seed is bit-identical, also on more threads and
// with dropout.
func TestTraining(t *testing.T) {
	for _, change := range []func(*Config){
		func(*Config) {},
		func(c *Config) { c.Block, c.Norm = "post", "layernorm_sigma" },
		func(c *Config) { c.Position, c.Dropout, c.Activation = "rope", 0.1, "relu" },
		func(c *Config) { c.Position, c.Bias = "sinusoidal", false },
	} {
		c := small()
		change(&c)
		losses := steps(t, newTrainer(t, c), 40)
		if first, last := losses[0], losses[39]; !(math.Abs(first-math.Log(10)) < 0.6) || !(last < 0.85*first) {
			t.Errorf("%+v: the loss goes from %.3f to %.3f, want from about ln 10 downwards", c, first, last)
		}
		c.Threads = 2
		if diff := cmp.Diff(losses[:10], steps(t, newTrainer(t, c), 10)); diff != "" {
			t.Errorf("%+v: again on two threads: %s", c, diff)
		}
	}
}

// A run that was saved and restored continues as if uninterrupted.
func TestResume(t *testing.T) {
	c := small()
	c.Dropout = 0.1
	full := newTrainer(t, c)
	first := steps(t, full, 6)
	v, err := NewVocabulary("characters")
	if err != nil {
		t.Fatal(err)
	}
	v.Add("abc")
	halted := newTrainer(t, c)
	steps(t, halted, 3)
	path := t.TempDir()
	saved, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := saved.Save(halted.Done, filesOf(t, halted, v, v)); err != nil {
		t.Fatal(err)
	}
	saved.Close()
	cp, err := checkpoint.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadState(cp)
	if err != nil || s.Step != 3 || s.Source.Size() != 7 {
		t.Fatalf("state %+v, %v", s, err)
	}
	resumed, err := Resume(s.Config, backwards{}, s.Source, s.Target, cp)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first[3:], steps(t, resumed, 3)); diff != "" {
		t.Errorf("resumed: %s", diff)
	}
	other := s.Config
	other.NEmbd, other.NInner, other.QKSize, other.VSize = 8, 32, 4, 4
	if _, err := Resume(other, backwards{}, v, v, cp); err == nil ||
		!strings.Contains(err.Error(), "n_embd: got 8, want 16 as saved") {
		t.Errorf("another model: got error %v", err)
	}
	m, err := New(graph.New(graph.Float32, 1), other, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.restore(cp); err == nil || !strings.Contains(
		err.Error(), "encoder.wte.weight has shape [9 16] in the file, [9 8] in the model",
	) {
		t.Errorf("another model: got error %v", err)
	}
	v.Add("d")
	if _, err := Resume(s.Config, backwards{}, v, s.Target, cp); err == nil ||
		!strings.Contains(err.Error(), "the vocabulary of 8 tokens is not the one of 7") {
		t.Errorf("another vocabulary: got error %v", err)
	}
}

// The Translator's logits, token by token from kept keys and values, equal those of the model's full pass, and its
// beams are independent.
func TestTranslatorEqualsModel(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Block, c.Position = "pre", "learned" },
		func(c *Config) { c.Block, c.Position = "post", "rope" },
		func(c *Config) { c.NLayer, c.Position = 1, "sinusoidal" },
		func(c *Config) { c.Position, c.Norm = "alibi", "layernorm_plain" },
		func(c *Config) { c.Norm, c.MLP, c.Activation = "rmsnorm", "swiglu", "" },
	} {
		c := small()
		change(&c)
		g := graph.New(graph.Float64, 5)
		m, err := New(g, c, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range m.Params() {
			rng := rand.New(rand.NewPCG(7, uint64(p.Tensor().Len())))
			for i := range p.Tensor().Len() {
				p.Tensor().Set(i, p.Tensor().At(i)+0.3*rng.NormFloat64())
			}
		}
		pairs := []Pair{
			{Source: []int{4, 5, 6, 7}, Target: []int{5, 6, 4, 9, 8}},
			{Source: []int{8, 4}, Target: []int{9, 5, 5, 6, 4}},
		}
		if err := m.Fill(pairs); err != nil {
			t.Fatal(err)
		}
		p, err := graph.Compile(m.Logits)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		want := p.Value().Clone()
		w, err := NewTranslator(m, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Read([][]int{pairs[0].Source, pairs[1].Source}); err != nil {
			t.Fatal(err)
		}
		tokens := []int{Begin, Begin, Begin, Begin, Begin, Begin}
		for at := range 6 {
			got, err := w.Step(tokens)
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range []int{1, 5} { // the targets are beam 1 of the first source and beam 2 of the second
				for j := range c.TargetVocab {
					a, b := got.Row(row).At(j), want.Row(i*c.TargetSize+at).At(j)
					if !(math.Abs(a-b) <= 1e-12) {
						t.Fatalf("source %d, token %d: logit %d is %v, in one pass %v", i, at, j, a, b)
					}
				}
			}
			if at == 5 {
				break
			}
			if at == 2 { // the hypotheses move, and others take their slots
				w.Fork(1, 0)
				w.Fork(0, 1)
				w.Fork(5, 3)
				w.Fork(3, 5)
			}
			tokens = []int{4, pairs[0].Target[at], 5, 6, 7, pairs[1].Target[at]}
		}
	}
}

// Fork copies: later changes of the copy do not affect the original.
func TestTranslatorForkCopies(t *testing.T) {
	m, err := New(graph.New(graph.Float64, 5), small(), 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewTranslator(m, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	logits := func(fork bool, tokens ...[]int) graph.Tensor {
		if err := w.Read([][]int{{4, 5, 6}}); err != nil {
			t.Fatal(err)
		}
		var out graph.Tensor
		for i, step := range tokens {
			if fork && i == 2 {
				w.Fork(0, 1)
			}
			if out, err = w.Step(step); err != nil {
				t.Fatal(err)
			}
		}
		return out.Clone()
	}
	want := logits(false, []int{Begin, Begin}, []int{5, 5}, []int{6, 8})
	got := logits(true, []int{Begin, Begin}, []int{5, 9}, []int{6, 8})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// On a model that has learned a little, one beam is greedy, and more beams find likelier texts if they differ at all.
func TestI53OnAModel(t *testing.T) {
	tr := newTrainer(t, small())
	steps(t, tr, 60)
	var sources [][]int
	for i := range 30 {
		p, _ := backwards{}.Pair(10_000 + i)
		sources = append(sources, p.Source)
	}
	found := map[int][]search.Hypothesis{}
	for _, beams := range []int{1, 4} {
		w, err := NewTranslator(tr.Model, 7, beams) // 30 is not a multiple of 7
		if err != nil {
			t.Fatal(err)
		}
		lists, err := w.Beam(t.Context(), sources, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range lists {
			found[beams] = append(found[beams], list[0])
		}
		greedy, err := w.Greedy(t.Context(), sources)
		if err != nil {
			t.Fatal(err)
		}
		if beams == 1 {
			if diff := cmp.Diff(greedy, found[1]); diff != "" {
				t.Errorf("one beam is not greedy: %s", diff)
			}
		}
		found[-beams] = greedy
	}
	if len(found[4]) != len(sources) {
		t.Fatalf("%d translations of %d sources", len(found[4]), len(sources))
	}
	better := 0
	for i := range sources {
		g, b := found[1][i], found[4][i]
		if !slices.Equal(g.Tokens, found[-4][i].Tokens) {
			t.Errorf(
				"source %d: greedy with room for four beams gives %v, with one %v", i, found[-4][i].Tokens, g.Tokens,
			)
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
}

func TestFill(t *testing.T) {
	m, err := New(graph.New(graph.Float64, 1), small(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Fill([]Pair{{[]int{4, 5}, []int{6, 7, 8}}, {[]int{8, 8, 8, 8, 8}, nil}}); err != nil {
		t.Fatal(err)
	}
	const no = text.Ignore
	for _, tc := range []struct{ got, want []int }{
		{m.Source.Ints(), []int{4, 5, Pad, Pad, Pad, 8, 8, 8, 8, 8}},
		{m.Input.Ints(), []int{Begin, 6, 7, 8, Pad, Pad, Pad, Begin, Pad, Pad, Pad, Pad, Pad, Pad}},
		{m.Targets.Ints(), []int{6, 7, 8, End, no, no, no, End, no, no, no, no, no, no}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Error(diff)
		}
	}
	for _, tc := range []struct {
		pairs []Pair
		want  string
	}{
		{[]Pair{{[]int{4}, nil}}, "got 1 pairs for a batch of 2"},
		{
			[]Pair{{[]int{4}, nil}, {[]int{4}, make([]int, 7)}},
			"pair 1: the target has 8 tokens with its end, target_size is 7",
		},
		{[]Pair{{[]int{4}, nil}, {make([]int, 6), nil}}, "pair 1: the source has 6 tokens, source_size is 5"},
		{[]Pair{{nil, nil}, {[]int{4}, nil}}, "pair 0: the source has 0 tokens, source_size is 5"},
	} {
		if err := m.Fill(tc.pairs); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got error %v, want %s", err, tc.want)
		}
	}
}

// A token is hidden in its place and is its target; at least one in every source; padding never.
func TestMaskedFill(t *testing.T) {
	m, err := NewMasked(graph.New(graph.Float64, 1), small(), 3)
	if err != nil {
		t.Fatal(err)
	}
	sources := [][]int{{4, 5, 6, 7, 8}, {5, 5}, {6}}
	hidden := 0
	for seed := range 200 {
		if err := m.Fill(sources, 0.3, rand.New(rand.NewPCG(uint64(seed), 1))); err != nil {
			t.Fatal(err)
		}
		for b, source := range sources {
			some := 0
			for i := range m.Config.SourceSize {
				id, target := m.Source.Ints()[b*5+i], m.Targets.Ints()[b*5+i]
				switch {
				case i >= len(source):
					if id != Pad || target != text.Ignore {
						t.Fatalf("padding: id %d, target %d", id, target)
					}
				case id == Hidden && target == source[i]:
					some++
				case id != source[i] || target != text.Ignore:
					t.Fatalf("token %d of source %d: id %d, target %d", i, b, id, target)
				}
			}
			if some == 0 {
				t.Fatalf("no token of source %d is hidden", b)
			}
			if hidden += some; b > 0 {
				hidden -= some
			}
		}
	}
	if share := float64(hidden) / 1000; !(math.Abs(share-(0.2+0.8*0.3)) < 0.04) {
		t.Errorf("%.2f of the first source are hidden, want one in five and 0.3 of the others", share)
	}
	if err := m.Fill(sources[:1], 0.3, nil); err == nil ||
		!strings.Contains(err.Error(), "got 1 sources for a batch of 3") {
		t.Errorf("got error %v", err)
	}
}

// The encoder learns to guess hidden tokens from both sides: a token between two equal ones equals them.
func TestMaskedLearns(t *testing.T) {
	c := small()
	c.SourceSize, c.BatchSize = 4, 16
	m, err := NewMasked(graph.New(graph.Float32, 1), c, c.BatchSize)
	if err != nil {
		t.Fatal(err)
	}
	p, err := graph.Compile(m.Loss, m.Params()...)
	if err != nil {
		t.Fatal(err)
	}
	o, err := optim.New(m.Params(), optim.AdamW{Beta1: 0.9, Beta2: 0.99})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var first, last float64
	for step := range 120 {
		var sources [][]int
		for range c.BatchSize {
			sources = append(sources, slices.Repeat([]int{specials + rng.IntN(5)}, 2+rng.IntN(3)))
		}
		if err := m.Fill(sources, 0, rng); err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if last = p.Loss(); step == 0 {
			first = last
		}
		if _, err := o.Update(p, 1e-2); err != nil {
			t.Fatal(err)
		}
	}
	if !(first > 1.5 && last < 0.1) {
		t.Errorf("the loss goes from %.3f to %.3f, want from about ln 9 to nearly 0", first, last)
	}
}

func TestNewTranslatorRefuses(t *testing.T) {
	m, err := New(graph.New(graph.Float32, 1), small(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewTranslator(m, 0, 2); err == nil || !strings.Contains(err.Error(), "got 0 sources and 2 beams") {
		t.Errorf("got error %v", err)
	}
	w, err := NewTranslator(m, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		sources [][]int
		want    string
	}{
		{[][]int{{4}, {4}, {4}}, "got 3 sources, want 1 … 2"},
		{[][]int{{4, 4, 4, 4, 4, 4}}, "the source has 6 tokens, source_size is 5"},
		{[][]int{{9}}, "source[0] is 9, not in 0 … 8"},
	} {
		if err := w.Read(tc.sources); err == nil || !strings.Contains(fmt.Sprint(err), tc.want) {
			t.Errorf("got error %v, want %s", err, tc.want)
		}
	}
}

func TestMain(m *testing.M) {
	heap.Limit()
	os.Exit(m.Run())
}
