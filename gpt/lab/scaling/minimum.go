package scaling

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"
)

const (
	gradientEnd  = 1e-10 // the largest derivative that ends a search
	flat         = 1e-5  // the largest derivative at a minimum
	mostSearches = 50
	mostSteps    = 200
)

// A vector contains a number for each variable.
type vector [variables]float64

// plus returns v + t·w.
func (v vector) plus(t float64, w vector) vector {
	for i := range v {
		v[i] += t * w[i]
	}
	return v
}

// largest returns the largest absolute value.
func (v vector) largest() (size float64) {
	for _, x := range v {
		size = max(size, math.Abs(x))
	}
	return size
}

// A place is a vector with the value and gradient of a function there.
type place struct {
	x        vector
	value    float64
	gradient vector
}

// minimise searches for a minimum of f from x. It searches again from an end with a slope: a bad estimate of the
// Hessian can make the steps of a search too short.
func minimise(f func(vector) place, x vector) place {
	at := f(x)
	evaluate := func(x []float64) place {
		if vector(x) != at.x { // a value and its gradient are asked for one after the other
			at = f(vector(x))
		}
		return at
	}
	problem := optimize.Problem{
		Func: func(x []float64) float64 { return evaluate(x).value },
		Grad: func(gradient, x []float64) { at := evaluate(x); copy(gradient, at.gradient[:]) },
	}
	settings := optimize.Settings{
		GradientThreshold: gradientEnd, MajorIterations: mostSteps, Converger: optimize.NeverTerminate{},
	}
	for range mostSearches {
		method := optimize.BFGS{Linesearcher: &optimize.Bisection{}}
		// gonum reports a step that rounding hides as an error. The caller decides whether the place is a minimum.
		result, _ := optimize.Minimize(problem, slices.Clone(at.x[:]), &settings, &method)
		if result == nil {
			return at
		}
		if evaluate(result.X).gradient.largest() <= flat {
			break
		}
	}
	return at
}
