package train

import (
	"math"
	"testing"
)

// The size of a text that another rank sends is bounded before anything is allocated for it.
func TestTextSize(t *testing.T) {
	for n, want := range map[[2]float32]int{{0, 0}: 0, {0, 7}: 7, {3, 5}: 3*4096 + 5, {4095, 4095}: 1<<24 - 1} {
		if got, err := textSize(n[:]); got != want || err != nil {
			t.Errorf("%v: got %d, %v, want %d", n, got, err, want)
		}
	}
	for _, n := range [][]float32{{4096, 0}, {0, 4096}, {-1, 0}, {0, -1}, {1e30, 0}, {float32(math.NaN()), 0}, {0, float32(math.Inf(1))}} {
		if _, err := textSize(n); err == nil {
			t.Errorf("%v: got no error", n)
		} else {
			contains(t, err, "bytes from rank 0, want")
		}
	}
}
