package gemm

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// TestPeak: no processor does more than 1000 operations per nanosecond and core.
func TestPeak(t *testing.T) {
	for _, threads := range []int{1, 2} {
		if peak := Peak(kernel.NewPool(threads)); !(peak > 0 && peak < 1000*float64(threads)) {
			t.Errorf("%d threads: %g operations per nanosecond", threads, peak)
		}
	}
	if sums := plainPeaks()[0]; sums.operations != 16 {
		t.Errorf("%v operations a round, want 8 multiplications and 8 additions", sums.operations)
	}
	if dots := plainPeaks()[1]; dots.operations*dotEvery != 2*dotSize {
		t.Errorf("%v operations a round, want %d in %d", dots.operations, 2*dotSize, dotEvery)
	}
	if plainPeakLoop(1000) != plainPeakLoop(1000) {
		t.Error("the loop ends in NaN")
	}
}

// TestBest: as long as runs improve there are more of them, then 32; less than a thousandth is no improvement.
func TestBest(t *testing.T) {
	runs := 0
	got := best(func() float64 {
		runs++
		switch {
		case runs <= 100:
			return float64(runs)
		case runs == 120:
			return 101
		case runs > 120:
			return 101.05
		}
		return 100.05
	})
	if got != 101 || runs != 152 {
		t.Errorf("got %v after %d runs, want 101 after 152", got, runs)
	}
	runs = 0
	if got := best(func() float64 { runs++; return 0 }); got != 0 || runs != 32 {
		t.Errorf("got %v after %d runs of 0, want 0 after 32", got, runs)
	}
}
