package seq2seq

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// Fill pads both sides and shifts the targets. A refused batch changes nothing.
func TestFill(t *testing.T) {
	m, err := New(graph.New(graph.Float64, 1), small(), 2)
	check(t, err)
	check(t, m.Fill([]Pair{{[]int{4, 5}, []int{6, 7, 8}}, {[]int{8, 8, 8, 8, 8}, nil}}))
	const no = text.Ignore
	want := [][]int{
		{4, 5, Pad, Pad, Pad, 8, 8, 8, 8, 8},
		{Begin, 6, 7, 8, Pad, Pad, Pad, Begin, Pad, Pad, Pad, Pad, Pad, Pad},
		{6, 7, 8, End, no, no, no, End, no, no, no, no, no, no},
		{2, 5},
	}
	state := func() [][]int { return [][]int{m.Source.Ints(), m.Input.Ints(), m.Targets.Ints(), m.encoder.lengths} }
	if diff := cmp.Diff(want, state()); diff != "" {
		t.Error(diff)
	}
	good := Pair{[]int{4}, nil}
	for _, tc := range []struct {
		pairs []Pair
		want  string
	}{
		{[]Pair{good}, "got 1 pairs for a batch of 2"},
		{[]Pair{good, {[]int{4}, make([]int, 7)}}, "pair 1: the target has 8 tokens with its end, target_size is 7"},
		{[]Pair{good, {make([]int, 6), nil}}, "pair 1: the source has 6 tokens, source_size is 5"},
		{[]Pair{{}, good}, "pair 0: the source has 0 tokens, source_size is 5"},
	} {
		mustSay(t, m.Fill(tc.pairs), tc.want)
		if diff := cmp.Diff(want, state()); diff != "" {
			t.Errorf("%s: %s", tc.want, diff)
		}
	}
	check(t, m.Fill([]Pair{good, {[]int{4}, make([]int, 6)}}))
	mustSay(t, (*Model)(nil).Fill(nil), "model: got nil, want one of New")
	mustSay(t, new(Model).Fill(nil), "model: Graph: got nil")
	if (*Model)(nil).Params() != nil || (*Masked)(nil).Params() != nil {
		t.Error("nothing has parameters")
	}
}

// A token is hidden in its place and is its target; at least one in every source; padding never.
func TestMaskedFill(t *testing.T) {
	m, err := NewMasked(graph.New(graph.Float64, 1), small(), 3)
	check(t, err)
	sources := [][]int{{4, 5, 6, 7, 8}, {5, 5}, {6}}
	hidden := 0
	for seed := range 200 {
		check(t, m.Fill(sources, 0.3, rand.New(rand.NewPCG(uint64(seed), 1))))
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
			if b == 0 {
				hidden += some
			}
		}
	}
	if share := float64(hidden) / 1000; !(math.Abs(share-(0.2+0.8*0.3)) < 0.04) {
		t.Errorf("%.2f of the first source are hidden, want one in five and 0.3 of the others", share)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, rate := range []float64{math.NaN(), -0.1, 1.1, math.Inf(1)} {
		mustSay(t, m.Fill(sources, rate, rng), "masked: got rate ", "want 0 to 1")
	}
	m.Config.Dropout = 0.5 // of a training
	check(t, m.Fill(sources, 0, rng))
	check(t, m.Fill(sources, 1, rng))
	mustSay(t, m.Fill(sources[:1], 0.5, rng), "got 1 sources for a batch of 3")
	mustSay(t, m.Fill([][]int{{4}, {}, {4}}, 0.5, rng), "pair 1: the source has 0 tokens")
	mustSay(t, m.Fill(sources, 0.5, nil), "masked: nothing to draw with")
	mustSay(t, m.Fill(sources, 0.5, &rand.Rand{}), "masked: nothing to draw with")
	m.Loss = m.Logits
	mustSay(t, m.Fill(sources, 0.5, rng), "masked: ", "Loss has been replaced")
	mustSay(t, (*Masked)(nil).Fill(sources, 0.5, rng), "masked: nothing to fill")
	mustSay(t, new(Masked).Fill(sources, 0.5, rng), "masked: model: Graph: got nil")
}

// The encoder learns to guess hidden tokens from both sides: a token between two equal ones equals them. The model
// consists of an encoder and a head, whose initial standard deviation is other heads'.
func TestMaskedLearns(t *testing.T) {
	c := small()
	c.SourceSize, c.BatchSize = 4, 16
	m, err := NewMasked(graph.New(graph.Float32, 1), c, c.BatchSize)
	check(t, err)
	for _, p := range m.Params() {
		if !strings.HasPrefix(p.Name(), "encoder.") && !strings.HasPrefix(p.Name(), "lm_head.") {
			t.Errorf("parameter %s is neither the encoder's nor the head's", p.Name())
		}
	}
	sums := map[string]float64{}
	other, err := New(graph.New(graph.Float32, 1), c, 1)
	check(t, err)
	for _, p := range slices.Concat(m.Params(), other.Params()) {
		for _, x := range p.Tensor().Floats() {
			sums[p.Name()] += x * x / float64(p.Tensor().Len())
		}
	}
	for _, name := range []string{"lm_head.weight", "decoder.lm_head.weight"} {
		if got := math.Sqrt(sums[name]); !(math.Abs(got-0.02) < 0.004) {
			t.Errorf("%s: a standard deviation of %v, want 0.02", name, got)
		}
	}
	p, err := graph.Compile(m.Loss, m.Params()...)
	check(t, err)
	o, err := optim.New(m.Params(), optim.AdamW{Beta1: 0.9, Beta2: 0.99})
	check(t, err)
	rng := rand.New(rand.NewPCG(1, 1))
	var first, last float64
	for step := range 120 {
		var sources [][]int
		for range c.BatchSize {
			sources = append(sources, slices.Repeat([]int{specials + rng.IntN(5)}, 2+rng.IntN(3)))
		}
		check(t, m.Fill(sources, 0, rng))
		check(t, p.Run())
		if last = p.Loss(); step == 0 {
			first = last
		}
		_, err := o.Update(p, 1e-2)
		check(t, err)
	}
	if !(first > 1.5 && last < 0.1) {
		t.Errorf("the loss goes from %.3f to %.3f, want from about ln 9 to nearly 0", first, last)
	}
}

// A model is refused without a graph, for an impossible batch or Config, beyond the memory limit of its graph, which
// counts instead of the Config's, and on a graph that has one.
func TestNewRefuses(t *testing.T) {
	for name, build := range map[string]func(g *graph.Graph, c Config, batch int) error{
		"seq2seq": func(g *graph.Graph, c Config, batch int) error { return second(New(g, c, batch)) },
		"masked":  func(g *graph.Graph, c Config, batch int) error { return second(NewMasked(g, c, batch)) },
	} {
		c := small()
		mustSay(t, build(nil, c, 2), name+": graph: got nil")
		for _, batch := range []int{0, field.MaxSize + 1} {
			mustSay(t, build(graph.New(graph.Float32, 1), c, batch), name+": got batch_size ", "want 1 to 268435456")
		}
		g := graph.New(graph.Float32, 1)
		c.MemoryLimit = 1e-9
		check(t, build(g, c, 2))
		if err := build(g, c, 2); err == nil {
			t.Errorf("%s: a second model on the same graph: no error", name)
		}
		g = graph.New(graph.Float32, 1)
		c.MemoryLimit = 0
		g.SetMemoryLimit(1)
		mustSay(t, build(g, c, 2), name, "for parameters and masks of n_layer")
		g = graph.New(graph.Float32, 1)
		g.SetMemoryLimit(1 << 30)
		if err := build(g, c, field.MaxSize); err == nil { // before its lists are allocated
			t.Errorf("%s: the largest batch: no error", name)
		}
		c.SourceSize = 0
		mustSay(t, build(graph.New(graph.Float32, 1), c, 2), name+": source_size: got 0")
	}
	c := small()
	c.ZLoss = 1e-4
	mustSay(t, second(NewMasked(graph.New(graph.Float32, 1), c, 1)), "masked: label_smoothing and z_loss: got 0 and 0.")
}

// A Vocabulary numbers the units of texts after the special tokens, and is the same after writing and reading it.
func TestVocabulary(t *testing.T) {
	for _, tc := range []struct {
		unit, text string
		size       int
		unknown    string
	}{
		{"words", "forty-two  thousand and forty-two", 3, "ninety"},
		{"characters", "ventitré è", 9, "q"},
	} {
		v, err := NewVocabulary(tc.unit)
		check(t, err)
		n := v.Add(tc.text)
		ids, err := v.Encode(tc.text)
		if err != nil || len(ids) != n || v.Size() != specials+tc.size || slices.Min(ids) < specials {
			t.Errorf("%s: ids %v of %d, size %d, %v", tc.unit, ids, n, v.Size(), err)
		}
		if got, want := v.Decode(ids), strings.Join(strings.Fields(tc.text), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		mustSay(t, second(v.Encode(tc.unknown)), tc.unknown, "number 1 of the "+tc.unit)
		mustSay(t, second(v.Encode("<pad>")), "is not in the vocabulary of")
		data, err := v.MarshalJSON()
		check(t, err)
		again := new(Vocabulary)
		check(t, again.UnmarshalJSON(data))
		if diff := cmp.Diff(v, again, cmp.AllowUnexported(Vocabulary{})); diff != "" {
			t.Error(diff)
		}
	}
	mustSay(t, second(NewVocabulary("syllables")), `got unit "syllables", want one of words, characters`)
	for tokens, want := range map[string]string{
		`"words","tokens":[""]`:        `vocabulary: got token "", want one of the words`,
		`"words","tokens":["a b"]`:     "vocabulary: got token ",
		`"characters","tokens":[""]`:   "vocabulary: got token ",
		`"characters","tokens":["ab"]`: `vocabulary: got token "ab", want one of the characters`,
		`"words","tokens":["a","a"]`:   `vocabulary: "a" appears twice`,
		`"word","tokens":[]`:           `vocabulary: got unit "word"`,
	} {
		mustSay(t, new(Vocabulary).UnmarshalJSON([]byte(`{"unit":`+tokens+`}`)), want)
	}
	none := (*Vocabulary)(nil)
	if none.Size() != 0 || none.Add("a") != 0 || new(Vocabulary).Add("a") != 0 || none.Decode([]int{0}) != "<unknown>" {
		t.Error("nothing has tokens")
	}
	for _, v := range []*Vocabulary{nil, {}} {
		mustSay(t, second(v.Encode("a")), "vocabulary: missing or empty")
		mustSay(t, second(v.MarshalJSON()), "vocabulary: missing or empty")
	}
	mustSay(t, none.UnmarshalJSON([]byte(`{"unit":"words","tokens":[]}`)), "vocabulary: missing or empty")
	mustSay(t, (*Config)(nil).UnmarshalJSON([]byte("{}")), "config: nowhere to read it into")
	(*Config)(nil).Flags(flag.NewFlagSet("", flag.ContinueOnError))
	new(Config).Flags(nil)
}
