package seq2seq

import (
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// Averaged is a model of the averages, which its checkpoint holds too, and which a run that is resumed continues.
func TestAveraged(t *testing.T) {
	c, v := small(), abc(t)
	c.EMA, c.Frozen = 0.5, train.Frozen{"encoder.h.0.*"}
	tr := newTrainer(t, c)
	step := func(tr *Trainer, n int) {
		for range n {
			if _, err := tr.Step(); err != nil {
				t.Fatal(err)
			}
		}
	}
	numbers := func(m *Model, err error) (list []float32) {
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range m.Params() {
			list = append(list, p.Tensor().F32...)
		}
		return list
	}
	step(tr, 2)
	resumed, err := Resume(c, backwards{}, v, v, saved(t, tr, v, "none", nil))
	if err != nil {
		t.Fatal(err)
	}
	step(tr, 2)
	step(resumed, 2)
	want := numbers(tr.Averaged())
	if got := numbers(resumed.Averaged()); !slices.Equal(got, want) {
		t.Error("got other averages from a resumed run")
	}
	if slices.Equal(want, numbers(tr.Model, nil)) {
		t.Error("got the weights, want their averages")
	}
	m, err := tr.Averaged()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range m.Params() {
		name := p.Name()
		at := slices.IndexFunc(tr.Averages(), func(a train.Named) bool { return a.Name == name })
		if got := at < 0; got != c.Frozen.Has(name) {
			t.Errorf("%s: got frozen %v", name, got)
		} else if at >= 0 && !slices.Equal(p.Tensor().F32, tr.Averages()[at].Tensor.F32) ||
			at < 0 && !slices.Equal(p.Tensor().F32, tr.Model.Params()[i].Tensor().F32) {
			t.Errorf("%s: got other numbers than its average", name)
		}
	}
	files, err := tr.AveragedFiles(v, v)
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	dir, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Save(tr.Done, files); err != nil {
		t.Fatal(err)
	}
	cp, err := checkpoint.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	loaded, _, err := LoadModel(cp)
	if got := numbers(loaded, err); !slices.Equal(got, want) {
		t.Error("got other averages from their checkpoint")
	}
	if _, err := Resume(c, backwards{}, v, v, cp); err == nil || !strings.Contains(err.Error(), train.OptimizerFile) {
		t.Errorf("resumed from averages alone: %v, want an error that names %s", err, train.OptimizerFile)
	}
	c.EMA = 0
	if _, err := newTrainer(t, c).Averaged(); err == nil || !strings.Contains(err.Error(), "ema: got 0") {
		t.Errorf("got %v without averages", err)
	}
}

// An evaluation counts those since the lowest loss.
func TestSince(t *testing.T) {
	c := small()
	c.Patience = 2
	tr := newTrainer(t, c)
	for want := range 3 { // the same weights have the same loss
		if _, err := tr.Evaluate(t.Context(), backwards{}); err != nil || tr.Since != want ||
			tr.Stalled() != (want == 2) {
			t.Errorf("got %d evaluations since the best, stalled %v, %v, want %d", tr.Since, tr.Stalled(), err, want)
		}
	}
}
