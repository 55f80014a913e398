package scaling

import (
	"math"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/stat"
)

// The variables of a search are the logarithms of the three terms of a law at n = d = 0, and its exponents.
const (
	termE = iota
	termA
	termB
	alpha
	beta
	variables
)

// A problem is a list of points in standard coordinates: the logarithms of N and D have mean 0 and deviation 1, and the
// logarithms of the losses have mean 0.
type problem struct {
	n, d, loss []float64
	nMean, nSD float64
	dMean, dSD float64
	lossMean   float64
}

// newProblem returns the problem of the points.
func newProblem(points []Point) problem {
	var p problem
	for _, point := range points {
		p.n = append(p.n, math.Log(point.N))
		p.d = append(p.d, math.Log(point.D))
		p.loss = append(p.loss, math.Log(point.Loss))
	}
	p.nMean, p.nSD = stat.MeanStdDev(p.n, nil)
	p.dMean, p.dSD = stat.MeanStdDev(p.d, nil)
	p.lossMean = stat.Mean(p.loss, nil)
	for i := range points {
		p.n[i] = (p.n[i] - p.nMean) / p.nSD
		p.d[i] = (p.d[i] - p.dMean) / p.dSD
		p.loss[i] -= p.lossMean
	}
	return p
}

// predict returns the logarithm of the predicted loss of point i, and its derivatives.
func (p problem) predict(x vector, i int) (float64, vector) {
	logA, logB := x[termA]-x[alpha]*p.n[i], x[termB]-x[beta]*p.d[i]
	largest := max(x[termE], logA, logB)
	e, a, b := math.Exp(x[termE]-largest), math.Exp(logA-largest), math.Exp(logB-largest)
	sum := e + a + b
	return largest + math.Log(sum), vector{e / sum, a / sum, b / sum, -p.n[i] * a / sum, -p.d[i] * b / sum}
}

// law returns the law of the variables, or an error if its numbers are too large.
func (p problem) law(x vector) (Law, error) {
	l := Law{Alpha: x[alpha] / p.nSD, Beta: x[beta] / p.dSD}
	l.E = math.Exp(x[termE] + p.lossMean)
	l.A = math.Exp(x[termA] + p.lossMean + l.Alpha*p.nMean)
	l.B = math.Exp(x[termB] + p.lossMean + l.Beta*p.dMean)
	for _, v := range []struct {
		quantity
		name     string
		exponent float64
	}{{quantity{"A", l.A}, "alpha", l.Alpha}, {quantity{"B", l.B}, "beta", l.Beta}} {
		if err := v.check(); err != nil {
			return Law{}, errors.Wrapf(err, "search: not converged: %s: got %g", v.name, v.exponent)
		}
	}
	return l, nil
}
