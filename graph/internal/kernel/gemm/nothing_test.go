package gemm

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// A product over nothing is 0, whatever was there before, or with beta what was there.
func TestBetaOverNothing(t *testing.T) {
	nan := math.NaN()
	for name, mul := range map[string]func(beta float64, c []float64){
		"Mul": func(beta float64, c []float64) {
			Mul(kernel.NewPool(1), 2, 2, 0, 1, Mat([]float64{}, 1), Mat([]float64{}, 2), beta, Mat(c, 2))
		},
		"MulSerial": func(beta float64, c []float64) {
			MulSerial(2, 2, 0, 1, Mat([]float64{}, 1), Mat([]float64{}, 2), beta, Mat(c, 2))
		},
	} {
		c := []float64{nan, 1, math.Inf(1), nan}
		if mul(0, c); !slices.Equal(c, []float64{0, 0, 0, 0}) {
			t.Errorf("%s: got %v, want 0", name, c)
		}
		c = []float64{1, 2, 3, 4}
		if mul(2, c); !slices.Equal(c, []float64{2, 4, 6, 8}) {
			t.Errorf("%s: got %v, want twice what was there", name, c)
		}
	}
}
