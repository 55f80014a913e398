package gemm

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// TestPeak: no processor does fewer than some hundred million operations per second, none more than 1000 per nanosecond
// and core.
func TestPeak(t *testing.T) {
	for _, threads := range []int{1, 2} {
		if peak := Peak(kernel.NewPool(threads)); !(peak > 0.1 && peak < 1000*float64(threads)) {
			t.Errorf("%d threads: %g operations per nanosecond", threads, peak)
		}
	}
	if dots := plainPeaks()[1]; dots.operations*dotEvery != 2*dotSize {
		t.Errorf("%v operations a round, want %d in %d", dots.operations, 2*dotSize, dotEvery)
	}
	if plainPeakLoop(1000) != plainPeakLoop(1000) {
		t.Error("the loop ends in NaN")
	}
}
