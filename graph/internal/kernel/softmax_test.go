package kernel

import (
	"math"
	"testing"
)

// Softmax shifts the scores by the largest visible one, in float64, which is computed in plain Go, and in float32.
func TestSoftmaxShifts(t *testing.T) {
	softmaxShifts[float32](t)
	softmaxShifts[float64](t)
}

func softmaxShifts[T Float](t *testing.T) {
	e, hidden := math.Exp(-1), T(math.Inf(-1))
	for _, tc := range []struct {
		x, mask []T
		want    []float64
	}{
		{[]T{1000, 999, -1000}, []T{0, 0, 0}, []float64{1 / (1 + e), e / (1 + e), 0}},
		{[]T{-1000, -1001, 5e4}, []T{0, 0, hidden}, []float64{1 / (1 + e), e / (1 + e), 0}},
		{[]T{5e4, -2000, -2000}, []T{hidden, 0, -1}, []float64{0, 1 / (1 + e), e / (1 + e)}},
	} {
		Softmax(tc.x, tc.mask)
		for i, got := range tc.x {
			if !(math.Abs(float64(got)-tc.want[i]) <= 1e-6) {
				t.Errorf("%T, entry %d: got %v, want %v", got, i, tc.x, tc.want)
			}
		}
	}
}
