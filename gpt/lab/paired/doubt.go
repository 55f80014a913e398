package paired

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// A Doubt says why Student's t does not decide about a comparison: its differences are far from normal.
type Doubt string

// The two doubts.
const (
	FewValues Doubt = "few values"
	Skewed    Doubt = "skewed"
)

// doubt returns the doubt about some differences, or "". They have few values if they form at most half as many groups
// as there are seeds; neighbours nearer than the range divided by ten times the seeds are in one group. They are skewed
// if their skewness is more than 2.4 times the standard error of the skewness of normal differences. Of normal
// ones 1 in 40 has a doubt.
func doubt(d []float64) Doubt {
	sorted, n := slices.Sorted(slices.Values(d)), float64(len(d))
	groups, near := 1, (sorted[len(d)-1]-sorted[0])/(10*n)
	for i, x := range sorted[1:] {
		if x-sorted[i] > near {
			groups++
		}
	}
	switch {
	case len(d) > 3 && groups <= (len(d)+1)/2:
		return FewValues
	case len(d) > 3 && math.Abs(stat.Skew(d, nil)) > 2.4*math.Sqrt(6*n*(n-1)/((n-2)*(n+1)*(n+3))):
		return Skewed
	}
	return ""
}
