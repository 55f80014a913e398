package gpt

import (
	"context"
	"strings"
	"testing"
)

// If two goroutines use one Trainer, the second gets an error, and there is no race.
func TestTrainerBusy(t *testing.T) {
	c, tok := corpus(t, verses, tiny().BlockSize)
	tr, err := NewTrainer(tiny(), c, tok)
	if err != nil {
		t.Fatal(err)
	}
	tr.busy.Lock()
	_, step := tr.Step()
	_, evaluate := tr.Evaluate(context.Background())
	_, all := tr.EvaluateAll(context.Background(), nil)
	for name, err := range map[string]error{"Step": step, "Evaluate": evaluate, "EvaluateAll": all} {
		if err == nil || !strings.Contains(err.Error(), "in use by another goroutine") {
			t.Errorf("%s: got %v, want that it is in use", name, err)
		}
	}
	tr.busy.Unlock()
	if _, err := tr.Step(); err != nil {
		t.Error(err)
	}
}
