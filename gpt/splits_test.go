package gpt

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// Batches for training come from the training split, and those of an evaluation from its split. With splits that have
// no token in common, training learns only one of them.
func TestSplitsAreKeptApart(t *testing.T) {
	of := func(ids ...int) (out text.Tokens) {
		for range 40 {
			out = append(out, ids...)
		}
		return out
	}
	c := tiny()
	c.Head = "linear" // a tied one learns to repeat what it sees, whatever it is
	tok, err := text.NewCharacters("abcd")
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := NewTrainer(c, text.Dataset{Training: of(0, 1), Validation: of(2, 3), Sum: "x"}, tok)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := trainer.Step(); err != nil {
			t.Fatal(err)
		}
		for _, list := range [][]int{trainer.Model.Tokens.Ints(), trainer.Model.Targets.Ints()} {
			for _, id := range list {
				if id > 1 {
					t.Fatalf("trained on the tokens %v, of which those of 2 and 3 are to validate on", list)
				}
			}
		}
	}
	e, err := trainer.Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := trainer.EvaluateAll(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !(e.Train < 1 && e.Val > 1.5 && all > 1.5) {
		t.Errorf("losses %+v and %v over all of the validation split, want below 1 where trained and above 1.5 where not", e, all)
	}
	if trainer.Best != e.Val {
		t.Errorf("the best validation loss is %v, want %v", trainer.Best, e.Val)
	}
}
