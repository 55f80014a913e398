package paired

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The numbers of pairs come from published tables (Cohen 1988; G*Power 3), two-sided, at a power of 80 %.
func TestSeedsForTables(t *testing.T) {
	for _, v := range []struct {
		effect, level float64
		want          int
	}{
		{0.2, 0.05, 199}, {0.3, 0.05, 90}, {0.5, 0.05, 34}, {0.8, 0.05, 15}, {1, 0.05, 10}, {1.2, 0.05, 8},
		{0.5, 0.01, 51},
		{math.Inf(1), 0.05, 6}, {math.Inf(1), 0.005, 9}, {math.Inf(1), 0.0625, 6}, {1e9, 0.05, 2},
		{0.001, 0.05, mostSeeds},
		{1e-300, 0.05, mostSeeds},
	} {
		if got := seedsFor(v.effect, v.level); got != v.want {
			t.Errorf("effect %g, level %g: got %d seeds, want %d", v.effect, v.level, got, v.want)
		}
	}
	// With many seeds the deviation is as good as known: (1.96 + 0.842)²/d² and two more.
	if got, want := seedsFor(0.003, 0.05), 872099; got < want || got > want+3 {
		t.Errorf("effect 0.003: got %d seeds, want %d to %d", got, want, want+3)
	}
}

// The power is an integral of the normal distribution over the distribution of the deviation: a t of n seeds is at
// least q if z is at least q times the deviation, which is a chi divided by √(n − 1).
func TestPowerIsIntegral(t *testing.T) {
	for _, n := range []int{2, 3, 5, 10, 34, 200} {
		for _, effect := range []float64{0, 0.2, 0.5, 1, 3} {
			for _, level := range []float64{0.05, 0.005} {
				nu := float64(n - 1)
				q := distuv.StudentsT{Sigma: 1, Nu: nu}.Quantile(1 - level/2)
				want, h := 0.0, min(2e-3, 0.02/q)
				log, _ := math.Lgamma(nu / 2)
				for x := h / 2; x < math.Sqrt(nu)+9; x += h {
					density := math.Exp((1-nu/2)*math.Ln2 + (nu-1)*math.Log(x) - x*x/2 - log)
					want += h * density * tail(q*x/math.Sqrt(nu)-effect*math.Sqrt(float64(n)))
				}
				near(t, "power", power(n, effect, level), want, 5e-5)
			}
		}
	}
}
