package paired

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// simulated is the number of studies that are simulated for an estimate.
const simulated = 1000

// An estimator corrects the means of a plan's studies for the bias of early looks.
type estimator struct {
	studies [][]seen
	bounds  []float64 // of |t| at each look
}

// estimator returns the one of p with these nominal levels of its looks, or nil if p looks once.
func (p Plan) estimator(levels []float64) *estimator {
	if len(levels) == 1 {
		return nil
	}
	e := &estimator{studies: p.simulate()}
	for k, n := range p.Looks {
		e.bounds = append(e.bounds, distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(1-levels[k]/2))
	}
	return e
}

// estimate returns the mean of c without the bias of early looks: a study that ends early ends where its mean happens
// to be large. The estimate is the difference of which studies with this plan measure the mean of c on average
// (Whitehead 1986). The studies are simulated, and their differences are normal with the deviation of c.
func (e *estimator) estimate(c Comparison) float64 {
	if e == nil || c.SD == 0 || c.Mean == 0 {
		return c.Mean
	}
	measured := math.Abs(c.Mean) / c.SD
	low, high := 0.0, 2*measured
	for range 20 {
		if middle := (low + high) / 2; middle+e.bias(middle) < measured {
			low = middle
		} else {
			high = middle
		}
	}
	return c.Mean * low / measured
}

// A seen is the state of a simulated study at a look, without an effect: the mean of its differences and the standard
// error of the mean. The deviation of the differences is 1.
type seen struct{ mean, se float64 }

// simulate returns the looks of studies without an effect, the same at every call.
func (p Plan) simulate() (studies [][]seen) {
	random := rand.NewPCG(1, uint64(len(p.Looks)))
	normal := distuv.Normal{Sigma: 1, Src: random}
	for range simulated {
		looks := make([]seen, 0, len(p.Looks))
		var n, sum, squares float64
		for _, to := range p.Looks {
			more := float64(to) - n
			z := normal.Rand()
			if squares += z * z; more > 1 { // a sum of m squares: of the mean, and of m − 1 others
				squares += distuv.ChiSquared{K: more - 1, Src: random}.Rand()
			}
			n, sum = float64(to), sum+math.Sqrt(more)*z
			looks = append(looks, seen{sum / n, math.Sqrt(max(0, squares-sum*sum/n) / (n - 1) / n)})
		}
		studies = append(studies, looks)
	}
	return studies
}

// bias returns the mean by which the studies miss an effect: how much farther they are from it where they end than at
// their last look, which has no bias.
func (e *estimator) bias(effect float64) (sum float64) {
	for _, looks := range e.studies {
		for k, at := range looks {
			if math.Abs(at.mean+effect) >= e.bounds[k]*at.se {
				sum += at.mean - looks[len(looks)-1].mean
				break
			}
		}
	}
	return sum / simulated
}
