package picture

import (
	"testing"

	"gonum.org/v1/plot/plotter"
)

// The title of the picture of losses is in the unit of its axis.
func TestTitleHasTheUnitOfTheAxis(t *testing.T) {
	val := plotter.XYs{{X: 1, Y: 3}, {X: 2, Y: 2.1683}}
	for loss, want := range map[string]string{
		"cross entropy, nats per token": "val: 2.1683 nats per token",
		"loss":                          "val: 2.1683",
	} {
		if got := title(val, loss); got != want {
			t.Errorf("%s: got %q, want %q", loss, got, want)
		}
	}
}
