package gpt

import (
	"context"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// Run does the remaining steps, each once, even if the caller breaks out and continues, or evaluates and saves in
// between.
func TestRun(t *testing.T) {
	c := eventful()
	c.MaxIters = 7
	want, trainer := newTrainer(t, c), newTrainer(t, c)
	list := steps(t, want, c.MaxIters)
	dir := t.TempDir()
	var got []train.Progress
	for range 3 { // the last has nothing left
		for p, err := range trainer.Run(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			p.Took = 0
			if got = append(got, p); p.Step == 3 {
				if _, err := trainer.Evaluate(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := trainer.Save(dir); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
	}
	for i, p := range got {
		if i >= len(list) || p != list[i] {
			t.Errorf("yielded %+v at place %d, want %+v", p, i, list)
		}
	}
	if len(got) != c.MaxIters || fingerprint(t, trainer) != fingerprint(t, want) {
		t.Errorf("%d steps, want %d and the same bits", len(got), c.MaxIters)
	}
	m, tok, err := Open(dir)
	if err != nil || m.Config.NEmbd != c.NEmbd || tok.Size() != trainer.Tokenizer.Size() {
		t.Fatalf("opened %v, %v (%v)", m, tok, err)
	}
}

// Run ends with its context and with a step that fails, after which the trainer is unchanged.
func TestRunEnds(t *testing.T) {
	trainer := newTrainer(t, tiny())
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	enough, n := errors.New("enough"), 0
	for p, err := range trainer.Run(ctx) {
		if n++; p.Step == 2 {
			cancel(enough)
		}
		if n == 3 && (!errors.Is(err, enough) || err.Error() != "before step 3: enough") {
			t.Errorf("got %v, want that it was enough", err)
		}
	}
	if n != 3 || trainer.Done != 2 {
		t.Errorf("yielded %d times, %d steps done, want 3 and 2", n, trainer.Done)
	}
	w := trainer.Model.Params()[0].Tensor()
	before := w.F32[0]
	w.F32[0] = float32(math.Inf(1))
	for _, err := range trainer.Run(t.Context()) {
		if n++; err == nil {
			t.Error("a step with an infinite weight")
		}
	}
	w.F32[0] = before
	for p, err := range trainer.Run(t.Context()) {
		if n++; p.Step != 3 || err != nil {
			t.Errorf("got step %d (%v), want 3", p.Step, err)
		}
		break
	}
	if n != 5 {
		t.Errorf("yielded %d times, want 5", n)
	}
	for _, nothing := range []*Trainer{nil, {}} {
		for _, err := range nothing.Run(t.Context()) {
			mustContain(t, err, "want a trainer")
		}
	}
}

// Nothing to open, and a checkpoint without a tokenizer, are errors.
func TestOpenErrors(t *testing.T) {
	_, _, err := Open(t.TempDir())
	mustContain(t, err, "no checkpoint")
	alone, err := newTrainer(t, tiny()).Model.Files(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = Open(saved(t, 1, alone).Path)
	mustContain(t, err, "no tokenizer")
}
