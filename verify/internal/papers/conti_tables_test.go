package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/structured"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// The dimension of a band, −(w + 1)(w − 2n) − n, holds up to w = n; beyond that the band keeps n² entries, but the
// formula falls (erratum C9).
func TestContiBandDimension(t *testing.T) {
	printed := func(n, w int) int { return -(w+1)*(w-2*n) - n }
	for n := 1; n < 20; n++ {
		for w := range 2*n + 3 {
			band := visible(n, func(i, j int) bool { return i-j <= w && j-i <= w }).Exp()
			count := int(dot(band, band))
			if got := structured.Dimension(n, w); got != count {
				t.Errorf("n %d, w %d: got %d, want %d", n, w, got, count)
			}
			if holds := printed(n, w) == count; holds != (w <= n) {
				t.Errorf("n %d, w %d: the print has %d, the band %d", n, w, printed(n, w), count)
			}
		}
	}
	if a, b := printed(16, 3), printed(16, 10); a != 100 || b != 226 {
		t.Errorf("got %d and %d, want 100 and 226", a, b)
	}
}

// The distances of the tables in 3.1.3, called relatively small, are those of (16, 16) weights, from which the matrix
// of zeros has the distance 16: seven of eight and eight of eight are farther away than that (erratum C12).
func TestContiTables(t *testing.T) {
	const n = 16
	tables := [2][8][2]float64{
		{
			{17.229423, 0.067302}, {15.748942, 0.061519}, {21.084405, 0.082361}, {18.796007, 0.073422},
			{16.912899, 0.066066}, {17.232267, 0.067314}, {18.121464, 0.070787}, {18.711096, 0.073090},
		},
		{
			{22.584185, 0.088219}, {20.904304, 0.081657}, {20.630814, 0.080589}, {19.964075, 0.077985},
			{21.000884, 0.082035}, {22.181472, 0.086646}, {21.396999, 0.083582}, {21.169499, 0.082693},
		},
	}
	weights := fixture.Random("scores", n, n).Scale(4).Softmax()
	zero := structured.Distance(nested(weights), nested(hand.Zeros[float64](n, n)))
	near(t, "|A − 0|", hand.NewMatrix(1, 1, zero), hand.NewMatrix(1, 1, float64(n)))
	for i, worse := range []int{7, 8} {
		count := 0
		for _, row := range tables[i] {
			if !(math.Abs(row[0]/(n*n)-row[1]) <= 5.1e-7) {
				t.Errorf("mean: got %v for the distance %v, want %v", row[1], row[0], row[0]/(n*n))
			}
			if row[0] > zero {
				count++
			}
		}
		if count != worse {
			t.Errorf("table %d: got %d heads worse than zeros, want %d", i, count, worse)
		}
	}
}
