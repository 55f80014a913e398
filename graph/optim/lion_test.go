package optim

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// Two steps in exact numbers. The second direction is the mean's and not the gradient's. Without gradient and moment a
// weight only decays, and a gradient that is not a number shows in the weight.
func TestLionMovesBySign(t *testing.T) {
	w, m := []float64{2, 2, 2, 2, 2, 2}, make([]float64, 6)
	step := func(g ...float64) {
		Lion{Beta1: 0.75, Beta2: 0.5}.Step(Step{Rate: 0.5, Decay: 0.25, Scale: 2, W: graph.Tensor{F64: w},
			G: graph.Tensor{F64: g}, M: graph.Tensor{F64: m}})
	}
	step(4, -1e-9, 0, 1e-9, 4, 4)
	if want := []float64{1.25, 2.25, 1.75, 1.25, 1.25, 1.25}; !slices.Equal(w, want) || m[0] != 4 {
		t.Errorf("step 1: got %v and moments %v, want %v and 4", w, m, want)
	}
	step(-1, 1e-9, 0, 1e-9, -7, math.NaN())
	if want := []float64{0.59375, 2.46875, 1.53125, 0.59375, 1.59375}; !slices.Equal(w[:5], want) || m[0] != 1 ||
		!math.IsNaN(w[5]) {
		t.Errorf("step 2: got %v and moments %v, want %v, NaN and 1", w, m, want)
	}
}
