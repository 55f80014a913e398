package seq2seq

import (
	"flag"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// A masked model consists of an encoder and a head and has no target; a second one on its graph is an error.
func TestMaskedModel(t *testing.T) {
	g := graph.New(graph.Float32, 1)
	m, err := NewMasked(g, small(), 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Params() {
		if !strings.HasPrefix(p.Name(), "encoder.") && !strings.HasPrefix(p.Name(), "lm_head.") {
			t.Errorf("parameter %s is neither the encoder's nor the head's", p.Name())
		}
	}
	if c := m.Config; c.TargetSize != 1 || c.TargetVocab != 1 {
		t.Errorf("target_size %d and target_vocab %d, want 1 and 1", c.TargetSize, c.TargetVocab)
	}
	_, err = NewMasked(g, small(), 2)
	mustSay(t, err, "masked model: ")
}

// Fill refuses wrong arguments and replaced fields, but not the border of a rate or another dropout.
func TestMaskedFillRefuses(t *testing.T) {
	m, err := NewMasked(graph.New(graph.Float32, 1), small(), 2)
	if err != nil {
		t.Fatal(err)
	}
	rng := func() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
	sources := [][]int{{4, 5}, {6}}
	for _, nothing := range []*Masked{nil, {}} {
		mustSay(t, nothing.Fill(sources, 0.5, rng()), "masked: nothing to fill, want one of NewMasked")
	}
	for _, rate := range []float64{math.NaN(), -0.1, 1.1, math.Inf(1)} {
		mustSay(t, m.Fill(sources, rate, rng()), "masked: got rate ", "want 0 to 1")
	}
	m.Config.Dropout = 0.5
	for _, rate := range []float64{0, 1} {
		check(t, m.Fill(sources, rate, rng()))
	}
	mustSay(t, m.Fill(sources[:1], 0.5, rng()), "got 1 sources for a batch of 2")
	mustSay(t, m.Fill([][]int{{4}, {}}, 0.5, rng()), "pair 1: the source has 0 tokens")
	for _, nobody := range []*rand.Rand{nil, {}} {
		mustSay(t, m.Fill(sources, 0.5, nobody), "masked: nothing to draw with")
	}
	m.Loss = m.Logits
	mustSay(t, m.Fill(sources, 0.5, rng()), "masked: ", "Loss has been replaced")
	if p := (*Masked)(nil).Params(); p != nil {
		t.Errorf("got %v, want no parameters of nothing", p)
	}
}

// Fill refuses a Model that New did not build, with replaced fields, or for another number of pairs.
func TestFillRefuses(t *testing.T) {
	pairs := []Pair{{[]int{4}, []int{5}}, {[]int{6, 7}, []int{8}}}
	mustSay(t, (*Model)(nil).Fill(pairs), "seq2seq: nothing to fill, want one of New")
	mustSay(t, new(Model).Fill(pairs), "seq2seq: ")
	m := newModel(t)
	check(t, m.Fill(pairs))
	mustSay(t, m.Fill(pairs[:1]), "got 1 pairs for a batch of 2")
	m.Input = m.Targets
	mustSay(t, m.Fill(pairs), "seq2seq: ", "Input has been replaced")
	if p := (*Model)(nil).Params(); p != nil {
		t.Errorf("got %v, want no parameters of nothing", p)
	}
}

// Nothing has no sources, beams or tokens, and is refused where it is needed.
func TestNothing(t *testing.T) {
	w, v := (*Translator)(nil), (*Vocabulary)(nil)
	if w.Sources() != 0 || w.Beams() != 0 || v.Size() != 0 || v.Add("a") != 0 || new(Vocabulary).Add("a") != 0 {
		t.Error("nothing has sources, beams or tokens")
	}
	if got := v.Decode([]int{0}); got != "<unknown>" {
		t.Errorf("got %q, want <unknown>", got)
	}
	for _, v := range []*Vocabulary{nil, {}} {
		_, err := v.Encode("a")
		mustSay(t, err, "vocabulary: it is empty")
		_, err = v.MarshalJSON()
		mustSay(t, err, "vocabulary: it is empty")
	}
	mustSay(t, v.UnmarshalJSON([]byte(`{"unit":"words","tokens":[]}`)), "vocabulary: it is empty")
	mustSay(t, (*Config)(nil).UnmarshalJSON([]byte("{}")), "config: nowhere to read it into")
	(*Config)(nil).Flags(flag.NewFlagSet("", flag.ContinueOnError))
	new(Config).Flags(nil)
	_, err := NewTrainer(small(), nil)
	mustSay(t, err, "trainer: no pairs (nil)")
	tr := newTrainer(t, small())
	_, err = tr.Evaluate(t.Context(), nil)
	mustSay(t, err, "evaluate: no pairs (nil)")
	_, err = (*Trainer)(nil).Step()
	mustSay(t, err, "trainer: nothing to train")
	for _, err := range (*Trainer)(nil).Run(t.Context()) {
		mustSay(t, err, "trainer: got nil")
	}
}

// The defaults of a Config are those of the graph, its options are only those of its attention, and the cosine ends
// after the warmup.
func TestDefaults(t *testing.T) {
	c := small()
	if got := c.Resolved(); got.Precision != graph.Precisions()[0] || got.Options.Get("mixed_keys") != 0 {
		t.Errorf(
			"got precision %q and %d mixed keys, want %q and none", got.Precision, got.Options.Get("mixed_keys"),
			graph.Precisions()[0],
		)
	}
	c.WarmupIters = c.MaxIters + 3
	if got, want := c.scheduled().LRDecayIters, c.MaxIters+4; got != want {
		t.Errorf("got lr_decay_iters %d, want %d", got, want)
	}
	c.NLayer = 0
	_, err := c.Memory()
	mustSay(t, err, "n_layer: got 0")
}
