package scaling

import (
	"cmp"
	"math"
	"slices"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/stat"
)

const (
	fewestPoints = variables + 1
	fewestSizes  = 3 // two differences of the loss determine A and α
)

// A Point is the loss of a model with N parameters after D tokens.
type Point struct {
	N, D, Loss float64
}

// sorted returns the points in an order that depends on their values alone, so that results do not depend on the
// caller's. It returns an error that names the field if the points cannot determine a law.
func sorted(points []Point) ([]Point, error) {
	if len(points) < fewestPoints {
		return nil, errors.Errorf("points: got %d, want at least %d", len(points), fewestPoints)
	}
	n, d := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		for _, v := range []quantity{{"N", p.N}, {"D", p.D}, {"loss", p.Loss}} {
			if err := v.check(); err != nil {
				return nil, errors.Wrapf(err, "points[%d]", i)
			}
		}
		n[i], d[i] = math.Log(p.N), math.Log(p.D)
	}
	if got := distinct(n); got < fewestSizes {
		return nil, errors.Errorf("N: got %d different numbers, want at least %d: alpha cannot be found",
			got, fewestSizes)
	}
	if got := distinct(d); got < fewestSizes {
		return nil, errors.Errorf("D: got %d different numbers, want at least %d: beta cannot be found",
			got, fewestSizes)
	}
	if c := stat.Correlation(n, d, nil); !(c*c < 1-1e-9) {
		return nil, errors.Errorf("N and D: got a correlation of %.4f in logarithms, want less than 1 in size: "+
			"alpha and beta could be exchanged", c)
	}
	points = slices.Clone(points)
	slices.SortFunc(points, func(p, q Point) int {
		return cmp.Or(cmp.Compare(p.N, q.N), cmp.Compare(p.D, q.D), cmp.Compare(p.Loss, q.Loss))
	})
	return points, nil
}

// distinct returns the number of different values.
func distinct(values []float64) int {
	return len(slices.Compact(slices.Sorted(slices.Values(values))))
}
