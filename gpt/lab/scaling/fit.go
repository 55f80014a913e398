package scaling

import (
	"math"

	"github.com/pkg/errors"
)

const delta = 1e-3 // of the Huber loss

// Fit returns the law with the smallest sum of Huber losses of the logarithms of the losses.
func Fit(points []Point) (Law, error) {
	points, err := sorted(points)
	if err != nil {
		return Law{}, err
	}
	p := newProblem(points)
	x, err := p.fit(starts())
	if err != nil {
		return Law{}, err
	}
	return p.law(x)
}

// fit returns the variables of the smallest of the minima that the starts lead to.
func (p problem) fit(starts []vector) (vector, error) {
	best := place{value: math.Inf(1), gradient: vector{math.Inf(1)}}
	for _, start := range starts {
		if end := minimise(p.sum, start); end.value < best.value {
			best = end
		}
	}
	if slope := best.gradient.largest(); !(slope <= flat) {
		return vector{}, errors.Errorf("search: not converged: got the derivative %g, want at most %g", slope, flat)
	}
	return best.x, nil
}

// starts returns a grid of variables. At the mean of the points, E has a share of the loss, and the other terms divide
// the rest.
func starts() (list []vector) {
	for _, share := range []float64{0.2, 0.6, 0.9} {
		rest := math.Log((1 - share) / 2)
		for _, a := range []float64{0.2, 0.5, 1} {
			for _, b := range []float64{0.2, 0.5, 1} {
				list = append(list, vector{termE: math.Log(share), termA: rest, termB: rest, alpha: a, beta: b})
			}
		}
	}
	return list
}

// sum returns the sum of the Huber losses of the residuals, divided by δ, and its gradient.
func (p problem) sum(x vector) place {
	at := place{x: x}
	for i := range p.loss {
		predicted, derivatives := p.predict(x, i)
		r := predicted - p.loss[i]
		slope := max(-1, min(1, r/delta))
		at.value += slope * (r - slope*delta/2)
		at.gradient = at.gradient.plus(slope, derivatives)
	}
	return at
}
