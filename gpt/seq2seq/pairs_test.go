package seq2seq

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

type list []Pair

func (l list) Len() int { return len(l) }

func (l list) Pair(i int) (Pair, error) {
	if l[i].Source == nil && l[i].Target == nil {
		return l[i], errors.New("cannot be read")
	}
	return l[i], nil
}

// A pair that does not fit is found before the first step.
func TestNewTrainerLooksAtAllPairs(t *testing.T) {
	good := Pair{[]int{4}, []int{5}}
	for _, tc := range []struct {
		pairs list
		want  string
	}{
		{nil, "no pairs"},
		{
			list{good, good, {[]int{4}, make([]int, 7)}},
			"pair 2: the target has 8 tokens with its end, target_size is 7",
		},
		{list{good, {make([]int, 6), nil}}, "pair 1: the source has 6 tokens, source_size is 5"},
		{list{good, {}}, "pair 1: cannot be read"},
	} {
		if _, err := NewTrainer(small(), tc.pairs); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got error %v, want %s", err, tc.want)
		}
	}
}

// The sum distinguishes pairs that consist of the same numbers in a row.
func TestSum(t *testing.T) {
	seen := map[string]int{}
	for i, pairs := range []list{
		{{[]int{4, 5}, []int{6}}},
		{{[]int{4}, []int{5, 6}}},
		{{[]int{4, 5, 6}, nil}},
		{{[]int{4, 5}, nil}, {[]int{6}, nil}},
		{{[]int{6}, nil}, {[]int{4, 5}, nil}},
	} {
		sum, err := survey(small(), pairs)
		if err != nil || len(sum) != 64 {
			t.Fatalf("got sum %q, error %v", sum, err)
		}
		if other, twice := seen[sum]; twice {
			t.Errorf("pairs %d and %d have the same sum", other, i)
		}
		seen[sum] = i
	}
}

// A run cannot be resumed on other pairs, even with the same vocabulary.
func TestResumeRefusesOtherPairs(t *testing.T) {
	pairs := list{{[]int{4}, []int{5}}, {[]int{5}, []int{4}}}
	tr, err := NewTrainer(small(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewVocabulary("characters")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	dir, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Save(0, filesOf(t, tr, v, v)); err != nil {
		t.Fatal(err)
	}
	cp, err := checkpoint.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(small(), pairs, v, v, cp); err != nil {
		t.Error(err)
	}
	other, err := survey(small(), pairs[:1])
	if err != nil {
		t.Fatal(err)
	}
	_, err = Resume(small(), pairs[:1], v, v, cp)
	for _, want := range []string{"trained on the pairs with sha256 " + tr.SHA256, "these have " + other} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

// A refused batch changes nothing.
func TestFillChecksFirst(t *testing.T) {
	m, err := New(graph.New(graph.Float64, 1), small(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Fill([]Pair{{[]int{4, 5}, []int{6}}, {[]int{7}, []int{8}}}); err != nil {
		t.Fatal(err)
	}
	state := func() (all [][]int) {
		for _, ids := range [][]int{m.Source.Ints(), m.Input.Ints(), m.Targets.Ints(), m.encoder.lengths} {
			all = append(all, slices.Clone(ids))
		}
		return all
	}
	before := state()
	for _, bad := range []Pair{{nil, nil}, {[]int{4}, make([]int, 9)}} {
		if err := m.Fill([]Pair{{[]int{8, 8, 8}, []int{9, 9}}, bad}); err == nil {
			t.Fatal("no error")
		}
		if diff := cmp.Diff(before, state()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestStepRefuses(t *testing.T) {
	m, err := New(graph.New(graph.Float32, 1), small(), 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewTranslator(m, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	six := []int{Begin, Begin, Begin, Begin, Begin, Begin}
	refused := func(tokens []int, want string) {
		t.Helper()
		if _, err := w.Step(tokens); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	refused(six, "got 0 sources to translate, want 1 … 2 from Read")
	if err := w.Read([][]int{{4}}); err != nil {
		t.Fatal(err)
	}
	refused(six[:5], "got 5 tokens, want 6 for 2 sources and 3 beams")
	if _, err := w.Step(six); err != nil {
		t.Error(err)
	}
	if err := w.Read([][]int{{9}}); err == nil {
		t.Error("an id beyond the vocabulary is read")
	}
	refused(six, "got 0 sources")
}
