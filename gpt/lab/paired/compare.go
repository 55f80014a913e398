package paired

import (
	"math"
	"slices"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Level is the probability that a study without an effect has any verdict. Intervals leave out the same probability.
const Level = 0.05

// Confirming is the smallest number of seeds with which the sign flips of one arm can be below Level: 2/2⁶ is 0.031.
const Confirming = 6

// A Comparison compares the measures of an arm with the baseline's, by the differences of equal seeds.
type Comparison struct {
	Seeds     int
	Mean, SD  float64 // of the differences arm − baseline
	SE        float64 // of Mean
	Low, High float64 // the 95 % interval of the mean: of this comparison alone; a Judgement has the adjusted one
	T         float64 // Mean/SE; 0 if all differences are equal
	P         float64 // of T, two-sided; SignFlip if there is a Doubt, or if all differences are equal
	SignFlip  float64 // the p of the permutation of signs, two-sided
	Doubt     Doubt   // why SignFlip is P, or ""
	Same      bool    // all differences are exactly 0: the arm equals the baseline for every seed
}

// Compare compares arm with base: arm[i] and base[i] are the measures of seed i. With more than 16 seeds, SignFlip is
// estimated from 100,000 draws, which follow from the number draws.
func Compare(arm, base []float64, draws uint64) (Comparison, error) {
	d, largest, err := differences(arm, base)
	if err != nil {
		return Comparison{}, err
	}
	n := len(d)
	mean, sd := stat.MeanStdDev(d, nil)
	if !finite(mean) || !finite(sd) {
		return Comparison{}, errors.Errorf("differences: got the mean %g and the deviation %g, want finite numbers",
			mean, sd)
	}
	c := Comparison{Seeds: n, Mean: mean, Low: mean, High: mean, SignFlip: signFlip(d, draws)}
	c.P, c.Same = c.SignFlip, !slices.ContainsFunc(d, func(x float64) bool { return x != 0 })
	if sd <= 0x1p-50*largest { // all are equal, except for rounding
		if !c.Same {
			c.Doubt = FewValues
		}
		return c, nil
	}
	student := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}
	c.SD, c.SE = sd, sd/math.Sqrt(float64(n))
	c.T = mean / c.SE
	if c.Doubt = doubt(d); c.Doubt == "" {
		c.P = 2 * student.Survival(math.Abs(c.T))
	}
	half := c.SE * student.Quantile(1-Level/2)
	c.Low, c.High = mean-half, mean+half
	return c, nil
}

// differences returns arm − base, and the largest absolute value of both.
func differences(arm, base []float64) (d []float64, largest float64, err error) {
	if len(arm) != len(base) {
		return nil, 0, errors.Errorf("seeds: got %d of the arm and %d of the baseline, want pairs", len(arm), len(base))
	}
	if len(arm) < 2 {
		return nil, 0, errors.Errorf("seeds: got %d, want at least 2: one seed decides nothing", len(arm))
	}
	d = make([]float64, len(arm))
	for i := range d {
		if !finite(arm[i]) {
			return nil, 0, errors.Errorf("arm[%d]: got %g, want a finite number", i, arm[i])
		}
		if !finite(base[i]) {
			return nil, 0, errors.Errorf("base[%d]: got %g, want a finite number", i, base[i])
		}
		d[i] = arm[i] - base[i]
		largest = max(largest, math.Abs(arm[i]), math.Abs(base[i]))
	}
	return d, largest, nil
}

// finite reports whether x is neither NaN nor infinite.
func finite(x float64) bool {
	return !math.IsNaN(x) && !math.IsInf(x, 0)
}
