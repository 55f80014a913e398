package scaling

import "math"

const (
	gradientEnd  = 1e-10 // the largest derivative that ends a search
	flat         = 1e-5  // the largest derivative at a minimum
	mostSearches = 50
	mostSteps    = 200
	mostTrials   = 60   // of the lengths of a step
	leastDescent = 1e-4 // share of the slope with which a step must descend
	mostSlope    = 0.9  // share of the slope that may remain after a step
)

// A vector contains a number for each variable.
type vector [variables]float64

// dot returns the sum of the products.
func (v vector) dot(w vector) (sum float64) {
	for i := range v {
		sum += v[i] * w[i]
	}
	return sum
}

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
	for range mostSearches {
		if at = search(f, at); at.gradient.largest() <= flat {
			break
		}
	}
	return at
}

// search returns the last place of a search by the method of Broyden, Fletcher, Goldfarb and Shanno.
func search(f func(vector) place, from place) place {
	inverse := identity(1) // of the Hessian
	for step := 0; step < mostSteps && from.gradient.largest() > gradientEnd; step++ {
		to, ok := descend(f, from, vector{}.plus(-1, inverse.times(from.gradient)))
		if !ok { // rounding hides any further descent
			break
		}
		moved, turned := to.x.plus(-1, from.x), to.gradient.plus(-1, from.gradient)
		curvature := moved.dot(turned)
		if from = to; !(curvature > 0) { // by rounding
			continue
		}
		if step == 0 {
			inverse = identity(curvature / turned.dot(turned))
		}
		inverse.update(moved, turned, curvature)
	}
	return from
}

// descend returns a place in the direction that is lower and less steep, by the weak conditions of Wolfe, and whether
// it found one.
func descend(f func(vector) place, from place, direction vector) (to place, ok bool) {
	slope := from.gradient.dot(direction)
	low, high, t := 0.0, math.Inf(1), 1.0
	for range mostTrials {
		to = f(from.x.plus(t, direction))
		switch {
		case !(to.value < from.value+leastDescent*t*slope):
			high = t
		case to.gradient.dot(direction) < mostSlope*slope:
			low = t
		default:
			return to, true
		}
		if t = (low + high) / 2; math.IsInf(high, 1) {
			t = 2 * low
		}
	}
	return place{}, false
}

// A matrix is square and symmetric.
type matrix [variables]vector

// identity returns a multiple of the identity.
func identity(scale float64) (m matrix) {
	for i := range m {
		m[i][i] = scale
	}
	return m
}

// times returns the product with v.
func (m *matrix) times(v vector) (product vector) {
	for i := range m {
		product[i] = m[i].dot(v)
	}
	return product
}

// update changes the inverse of a Hessian so that it turns the change of the gradient into the move that caused it.
func (m *matrix) update(moved, turned vector, curvature float64) {
	product := m.times(turned)
	scale := (1 + turned.dot(product)/curvature) / curvature
	for i := range m {
		for j := range m[i] {
			m[i][j] += scale*moved[i]*moved[j] - (product[i]*moved[j]+moved[i]*product[j])/curvature
		}
	}
}
