package paired

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	targetPower = 0.8
	mostSeeds   = 1_000_000
)

// seedsFor returns the smallest number of seeds with which a two-sided paired t at a level finds a difference with a
// power of 80 %, at most mostSeeds. The effect is the difference divided by the deviation of differences.
func seedsFor(effect, level float64) int {
	if math.IsInf(effect, 1) { // differences without any deviation, where SignFlip decides: 2/2ⁿ < level
		return int(2 - math.Log2(level))
	}
	// If the deviation were known, fewer seeds would do: the search begins at their number.
	z := (quantile(level/2) + quantile(1-targetPower)) / effect
	if z*z > mostSeeds {
		return mostSeeds
	}
	n := max(2, int(math.Ceil(z*z)))
	for power(n, effect, level) < targetPower {
		n++
	}
	return n
}

// power returns the probability that a paired t of n seeds finds an effect, in its direction.
func power(n int, effect, level float64) float64 {
	nu := float64(n - 1)
	t := distuv.StudentsT{Sigma: 1, Nu: nu}.Quantile(1 - level/2)
	return 1 - distuv.NoncentralT{Nu: nu, Mu: effect * math.Sqrt(float64(n))}.CDF(t)
}

// quantile returns the z that a standard normal number exceeds with probability p.
func quantile(p float64) float64 {
	return -distuv.UnitNormal.Quantile(p)
}

// tail returns the probability that a standard normal number exceeds z.
func tail(z float64) float64 {
	return math.Erfc(z/math.Sqrt2) / 2
}
