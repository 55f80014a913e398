package index_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/verify/index"
)

// Boué's equation (25), as INDEX.md lists it.
func ExampleRead() {
	x, err := index.Read("../..")
	if err != nil {
		fmt.Println(err)
		return
	}
	e := x.Papers[0].Equations[24]
	fmt.Printf("(%d) %s\n%s in %s: %s, distance %s, mark %d\n",
		e.Number, e.States, e.Test, e.Place.File, e.ByHand(), e.Distance, e.Mark())
	// Output:
	// (25) Δ back through the softmax: Δ_causal = (Δvᵗ − row sums of Δvᵗ∘ρ) ∘ ρ
	// TestBoueEq25 in verify/internal/papers/boue_backward_test.go: Attention.Backward, distance 3e-16, mark 2
}
