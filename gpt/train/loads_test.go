package train

import (
	"slices"
	"testing"
)

// An expert starves below a tenth of the mean share, whatever the number of experts that a token passes.
func TestStarving(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   []int
	}{
		{[]float64{0.5, 0.5, 0.5, 0.5}, nil},
		{[]float64{1.9, 0.05, 0.04, 0.01}, []int{2, 3}},
		{[]float64{1.9, 0.05, 0.05, 0}, []int{3}},
		{[]float64{0, 0}, nil},
		{nil, nil},
	} {
		if got := (Load{Shares: c.shares}).Starving(); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.shares, got, c.want)
		}
	}
}
