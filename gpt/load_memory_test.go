package gpt

import (
	"runtime"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// TestLoadingNeedsNoMemory: a resumed run and a loaded model allocate the same as new ones, and in addition less than a
// tenth of the numbers that they read.
func TestLoadingNeedsNoMemory(t *testing.T) {
	c := tiny()
	c.NEmbd, c.QKSize, c.VSize, c.Head = 320, 0, 0, "linear"
	trainer := newTrainer(t, c)
	steps(t, trainer, 1)
	path := t.TempDir()
	dir, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Save(1, files(t, trainer)); err != nil {
		t.Fatal(err)
	}
	allocated := func(do func() error) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := do(); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	open := func(use func(*checkpoint.Checkpoint) error) func() error {
		return func() error {
			cp, err := checkpoint.Load(path, Fits())
			if err != nil {
				return err
			}
			defer cp.Close()
			return use(cp)
		}
	}
	total, _ := trainer.Config().Count()
	weights := 4 * float64(total)
	fresh := allocated(func() error { _, err := NewTrainer(c, trainer.Corpus, trainer.Tokenizer); return err })
	resumed := allocated(open(func(cp *checkpoint.Checkpoint) error {
		_, err := Resume(c, trainer.Corpus, trainer.Tokenizer, cp)
		return err
	}))
	built := allocated(func() error { _, err := New(graph.New(graph.Float32, 1), trainer.Config(), 1); return err })
	loaded := allocated(open(func(cp *checkpoint.Checkpoint) error { _, err := LoadModel(emptyGraph(), cp); return err }))
	t.Logf("weights %.2g MB; a new run allocates %.3g, resumed %.3g; a new model %.3g, loaded %.3g", weights/1e6, fresh/1e6,
		resumed/1e6, built/1e6, loaded/1e6)
	if more := resumed - fresh; !(more < weights/10*3) { // weights and two moments
		t.Errorf("a resumed run allocates %.0f bytes more than a new one, its weights are %.0f", more, weights)
	}
	if more := loaded - built; !(more < weights/10) {
		t.Errorf("a loaded model allocates %.0f bytes more than a new one, its weights are %.0f", more, weights)
	}
}

// A step between Files and Save would mix two steps in a checkpoint: it is not saved.
func TestFilesAreOfOneStep(t *testing.T) {
	trainer := newTrainer(t, tiny())
	path := t.TempDir()
	dir, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	list := files(t, trainer)
	if err := dir.Save(0, list); err != nil {
		t.Fatal(err)
	}
	steps(t, trainer, 1)
	if err := dir.Save(1, list); err == nil || !strings.Contains(err.Error(), "files of step 0: got step 1 since") {
		t.Errorf("got %v", err)
	}
	if cp, err := checkpoint.Load(path); err != nil || cp.Step != 0 {
		t.Errorf("the checkpoint of step 0 is gone: %v", err)
	}
}
