package verify

import (
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
)

// A mistake between encoder and decoder, or in the description of either side, is found, and the report names the
// place.
func TestCheckPairsFindsMistakes(t *testing.T) {
	c := seq2seq.Config{SourceSize: 4, TargetSize: 3, SourceVocab: 7, TargetVocab: 6}
	c.NLayer, c.NHead, c.NEmbd, c.NInner = 2, 2, 4, 5
	m, err := NewPairs(c, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	m.Pairs[1].Source = m.Pairs[1].Source[:1]
	s, err := m.subject()
	if err != nil {
		t.Fatal(err)
	}
	few := sampling{every: 0, few: 1}
	report := func() *Report {
		t.Helper()
		plan, roads, err := evaluate(unwatched(), s)
		if err != nil {
			t.Fatal(err)
		}
		roads[0].deltas["z"].Data[4*4+2*4+3] += 1e-6 // the second pair's third token
		roads[0].grads["encoder.h.0.mlp.c_fc.weight"].Data[7] += 1e-6
		r, err := compare(unwatched(), s, plan, roads, few)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := report(); r.OK() || !strings.Contains(
		r.First, "Δz = Σ Δz of the blocks, at the output of z, pair 1, token 2, feature 3: autodiff has",
	) {
		t.Errorf("a Δ that differs at z: got %q", r.First)
	}
	plan, roads, err := evaluate(unwatched(), s)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(){
		"padding that is visible": func() { plan.Encoder.Lengths = []int{4, 2} },
		"an encoder with causality": func() {
			plan.Encoder.Attention = "window"
			plan.Option = func(string) int { return 1 }
		},
		"another norm": func() { plan.Norm = "layernorm_sigma" },
	} {
		before, encoder := plan, *plan.Encoder
		change()
		r, err := compare(unwatched(), s, plan, roads, few)
		if err != nil {
			t.Fatal(err)
		}
		if r.OK() || r.First == "" {
			t.Errorf("%s: not found", name)
		}
		plan = before
		plan.Encoder = &encoder
	}
}
