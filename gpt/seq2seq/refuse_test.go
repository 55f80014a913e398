package seq2seq

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
)

func mustSay(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("got error %v, want %q in it", err, w)
		}
	}
}

func translatorOf(t *testing.T, sources, beams int) *Translator {
	t.Helper()
	m, err := New(graph.New(graph.Float64, 1), small(), 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewTranslator(m, sources, beams)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A translator of a nil model or with impossible numbers is an error before anything is allocated; the methods of a
// zero Translator return errors.
func TestTranslatorRefuses(t *testing.T) {
	m, err := New(graph.New(graph.Float64, 1), small(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		m              *Model
		sources, beams int
		says           []string
	}{
		{nil, 1, 1, []string{"model: got nil"}},
		{&Model{}, 1, 1, []string{"model", "no graph"}},
		{&Model{Graph: m.Graph}, 1, 1, []string{"model: a literal, want one from New"}},
		{m, 1, 0, []string{"got 1 sources and 0 beams", "1 or more"}},
		{m, -1, 2, []string{"got -1 sources and 2 beams"}},
		{m, 1, 1 << 40, []string{"memory: got about", "sources 1, beams 1099511627776", "; want at most "}},
		{m, 1 << 40, 1 << 40, []string{"memory: got about", "sources 1099511627776", "; want at most "}},
	} {
		_, err := NewTranslator(tc.m, tc.sources, tc.beams)
		mustSay(t, err, append(tc.says, "translator")...)
	}
	for _, w := range []*Translator{nil, {}} {
		mustSay(t, w.Read([][]int{{4}}), "NewTranslator")
		_, err := w.Step([]int{4})
		mustSay(t, err, "NewTranslator")
		w.Fork(0, 1)
		_, err = w.Greedy(t.Context(), [][]int{{4}})
		mustSay(t, err, "NewTranslator")
		_, err = w.Beam(t.Context(), [][]int{{4}}, nil)
		mustSay(t, err, "NewTranslator")
		_, err = search.Beam(t.Context(), w, 3, nil)
		mustSay(t, err, "got 0 sources and 0 beams")
	}
	w := translatorOf(t, 2, 1)
	for _, tc := range []struct {
		sources [][]int
		want    string
	}{
		{nil, "got 0 sources, want 1 … 2"},
		{[][]int{{}}, "the source has 0 tokens, source_size is 5"},
		{[][]int{{4}, nil}, "the source has 0 tokens, source_size is 5"},
		{[][]int{{-1}}, "source[0] is -1, not in 0 … 8"},
		{[][]int{{1 << 40}}, "source[0] is 1099511627776"},
	} {
		mustSay(t, w.Read(tc.sources), tc.want)
	}
	if err := w.Read([][]int{{4}, {5}}); err != nil {
		t.Fatal(err)
	}
	_, err = w.Step([]int{Begin})
	mustSay(t, err, "got 1 tokens, want 2")
	_, err = w.Step([]int{Begin, -7})
	mustSay(t, err, "is -7, not in 0 … 9")
	for range small().TargetSize {
		if _, err := w.Step([]int{Begin, 4}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = w.Step([]int{Begin, 4})
	mustSay(t, err, fmt.Sprintf("token %d of a target, target_size is %d", small().TargetSize+1, small().TargetSize))
}

// A translator serves one caller at a time; a concurrent Fork is an error of the next step, but not of a text that is
// read later.
func TestTranslatorIsOneCallers(t *testing.T) {
	w := translatorOf(t, 1, 2)
	calls := 0
	rank := func(logProb float64, _ int) float64 { // called within Beam
		if calls++; calls == 1 {
			mustSay(t, w.Read([][]int{{4}}), "in use")
			_, err := w.Step([]int{4, 4})
			mustSay(t, err, "in use")
			_, err = w.Greedy(t.Context(), [][]int{{4}})
			mustSay(t, err, "in use")
			w.Fork(0, 1)
		}
		return logProb
	}
	_, err := w.Beam(t.Context(), [][]int{{4, 5}}, rank)
	mustSay(t, err, "a Fork of another goroutine")
	if _, err = w.Beam(t.Context(), [][]int{{4, 5}}, nil); err != nil || calls == 0 {
		t.Errorf("afterwards: %d calls, error %v", calls, err)
	}
}

// Copying a hypothesis that does not exist is an error of the next step.
func TestForkOfNothing(t *testing.T) {
	m, err := New(graph.New(graph.Float64, 1), small(), 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewTranslator(m, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Read([][]int{{4, 5}}); err != nil {
		t.Fatal(err)
	}
	w.Fork(0, 7)
	if _, err := w.Step([]int{Begin, Begin}); err == nil || !strings.Contains(err.Error(), "7") {
		t.Errorf("got %v, want an error that names sequence 7", err)
	}
}
