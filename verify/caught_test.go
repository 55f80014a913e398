package verify_test

import (
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// What panics in a formula, and what is not there, is an error.
func TestNothingPanics(t *testing.T) {
	_, formula := verify.Case{
		Name:     "glass",
		Build:    func(_ nn.Site, x graph.Expr) graph.Expr { return x.Square() },
		Forward:  func(hand.Parameters[complex128]) hand.Matrix[complex128] { panic("broken") },
		Backward: func(hand.Parameters[float64], hand.Matrix[float64]) hand.Gradients[float64] { panic("broken") },
	}.Run()
	_, none := verify.Check(nil)
	_, zero := verify.Check(verify.Model{})
	_, empty := verify.Case{}.Run()
	for want, err := range map[string]error{"case glass: panic: broken": formula, "nothing to check": none, "vocab_size": zero, "Build": empty} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
