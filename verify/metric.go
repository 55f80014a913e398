package verify

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// What "equal" means for float64 gradients. Two correct programs differ by less than 1e-12. The weakest mistake that we
// could think of makes a difference of 7e-5.
const (
	Tolerance      = 1e-10 // above it a gradient is wrong
	Suspicion      = 1e-12 // above it a gradient is worth a look
	relativeFloor  = 1e-3  // smallest scale of a difference, relative to the largest gradient
	structuralZero = 1e-12 // largest entry of a structural zero, relative to the largest gradient
)

// What "equal" means for the kernels in float32, and for central differences.
const (
	ToleranceFloat32     = 1e-3 // for a whole model
	toleranceLayer32     = 2e-5 // for a layer alone
	toleranceDifferences = 1e-6
)

// ErrCoverage is wrapped when two sets of gradients do not cover the same parameters with the same shapes.
var ErrCoverage = errors.New("verify: parameters not covered")

// Difference is the distance of two gradients of a parameter, and the place of the largest difference.
type Difference struct {
	Name     string
	Distance float64 // max|a − b| / max(max|a|, max|b|, φG)
	Row, Col int     // of the largest difference
	Got      float64
	Want     float64
}

// OK reports whether the gradients agree. A NaN never agrees.
func (d Difference) OK() bool { return d.Distance <= Tolerance }

// Compare compares got with want, parameter by parameter, sorted by name. G is the largest entry of want, φ = 1e-3. It
// returns an error that wraps ErrCoverage if a parameter is missing from either side or has another shape.
func Compare(got, want hand.Parameters[float64]) ([]Difference, error) {
	var holes []error
	for name := range got {
		if _, ok := want[name]; !ok {
			holes = append(holes, fmt.Errorf("%w: %s: got a gradient, want none", ErrCoverage, name))
		}
	}
	var out []Difference
	g := Largest(want)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		a, b := got[name], want[name]
		if a.Rows != b.Rows || a.Cols != b.Cols || len(a.Data) != len(b.Data) {
			holes = append(holes, fmt.Errorf("%w: %s: got (%d, %d), want (%d, %d)",
				ErrCoverage, name, a.Rows, a.Cols, b.Rows, b.Cols))
			continue
		}
		d := Distance(a, b, g)
		d.Name = name
		out = append(out, d)
	}
	return out, errors.Join(holes...)
}

// Distance compares two matrices of the same shape in a model whose largest gradient is g. The distance is NaN if the
// shapes differ or if a matrix carries an error.
func Distance(a, b hand.Matrix[float64], g float64) Difference {
	d := Difference{}
	if a.Err != nil || b.Err != nil || a.Rows != b.Rows || a.Cols != b.Cols ||
		len(a.Data) != len(b.Data) || len(b.Data) != b.Rows*b.Cols {
		return Difference{Distance: math.NaN()}
	}
	scale, worst := relativeFloor*g, -1.0
	for i := range b.Data {
		scale = max(scale, math.Abs(a.Data[i]), math.Abs(b.Data[i]))
		if gap := math.Abs(a.Data[i] - b.Data[i]); !(gap <= worst) {
			worst = gap
			d.Row, d.Col, d.Got, d.Want = i/b.Cols, i%b.Cols, a.Data[i], b.Data[i]
		}
		if math.IsNaN(worst) {
			break
		}
	}
	if worst > 0 || math.IsNaN(worst) {
		d.Distance = worst / scale
	}
	return d
}

// Worst returns the difference with the largest distance. A NaN counts as larger than any number. For an empty list
// Worst returns a distance of NaN.
func Worst(ds []Difference) Difference {
	if len(ds) == 0 {
		return Difference{Name: "nothing compared", Distance: math.NaN()}
	}
	return slices.MaxFunc(ds, func(a, b Difference) int {
		switch {
		case math.IsNaN(a.Distance) || a.Distance > b.Distance:
			return 1
		case math.IsNaN(b.Distance) || a.Distance < b.Distance:
			return -1
		}
		return 0
	})
}

// Largest returns the largest absolute value of all gradients.
func Largest(g hand.Parameters[float64]) float64 {
	largest := 0.0
	for _, m := range g {
		for _, v := range m.Data {
			largest = max(largest, math.Abs(v))
		}
	}
	return largest
}

// StructuralZero reports whether a gradient that is zero for every value of the parameters (the biases of the keys) is
// zero compared with the largest gradient g. A relative error means nothing there.
func StructuralZero(gradient hand.Matrix[float64], g float64) bool {
	for _, v := range gradient.Data {
		if !(math.Abs(v) <= structuralZero*g) {
			return false
		}
	}
	return true
}
