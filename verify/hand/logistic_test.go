package hand_test

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// If e^x overflows, the activations of the logistic function, their derivatives and the loss built of them have their
// limits as values: no formula overflows.
func TestLogisticFarFromZero(t *testing.T) {
	x, one := hand.NewMatrix(1, 3, -1000, 0, 1000.), hand.NewMatrix(1, 3, 1, 1, 1.)
	for name, c := range map[string]struct {
		layer    hand.Layer[float64]
		y, slope []float64
	}{
		"sigmoid":              {hand.Sigmoid[float64]{}, []float64{0, 0.5, 1}, []float64{0, 0.25, 0}},
		"silu":                 {hand.SiLU[float64]{}, []float64{0, 0, 1000}, []float64{0, 0.5, 1}},
		"softplus":             {hand.Softplus[float64]{}, []float64{0, math.Ln2, 1000}, []float64{0, 0.5, 1}},
		"binary cross entropy": {hand.BinaryCrossEntropy[float64]{Y: one}, []float64{(1000 + math.Ln2) / 3}, []float64{-1. / 3, -0.5 / 3, 0}},
	} {
		y := c.layer.Forward(x)
		dx, _ := c.layer.Backward(x, hand.NewMatrix(1, len(c.y), one.Data[:len(c.y)]...))
		for what, pair := range map[string][2][]float64{"y": {y.Data, c.y}, "Δx": {dx.Data, c.slope}} {
			for i, want := range pair[1] {
				if got := pair[0][i]; !(math.Abs(got-want) <= 1e-15*max(1, want)) {
					t.Errorf("%s: %s[%d] is %v, want %v", name, what, i, got, want)
				}
			}
		}
	}
}
