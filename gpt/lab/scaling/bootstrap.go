package scaling

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pkg/errors"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	outside         = 0.05 // probability that the truth is outside an interval
	fewestResamples = 100
	mostResamples   = 100_000
)

// An Interval contains the truth with a probability of 95 %.
type Interval struct {
	Low, High float64
}

// Contains reports whether x is in the interval.
func (i Interval) Contains(x float64) bool {
	return i.Low <= x && x <= i.High
}

// An Ensemble is the law of points, with intervals that follow from the laws of their resamples.
type Ensemble struct {
	Law
	Intervals struct{ E, A, B, Alpha, Beta Interval }

	laws  []Law
	noise []float64 // a residual for each law
}

// Bootstrap fits a law to the points, and to resamples of them, which follow from the seed. At most one resample in a
// hundred may have no law.
func Bootstrap(points []Point, resamples int, seed uint64) (Ensemble, error) {
	if resamples < fewestResamples || resamples > mostResamples {
		return Ensemble{}, errors.Errorf("resamples: got %d, want %d to %d", resamples, fewestResamples, mostResamples)
	}
	points, err := sorted(points)
	if err != nil {
		return Ensemble{}, err
	}
	p := newProblem(points)
	x, err := p.fit(starts())
	if err != nil {
		return Ensemble{}, err
	}
	var e Ensemble
	if e.Law, err = p.law(x); err != nil {
		return Ensemble{}, err
	}
	if err := e.resample(p, x, resamples, rand.New(rand.NewPCG(seed, 0))); err != nil {
		return Ensemble{}, err
	}
	for _, v := range []struct {
		interval *Interval
		of       func(Law) float64
	}{
		{&e.Intervals.E, func(l Law) float64 { return l.E }},
		{&e.Intervals.A, func(l Law) float64 { return l.A }},
		{&e.Intervals.B, func(l Law) float64 { return l.B }},
		{&e.Intervals.Alpha, func(l Law) float64 { return l.Alpha }},
		{&e.Intervals.Beta, func(l Law) float64 { return l.Beta }},
	} {
		values := make([]float64, len(e.laws))
		for i, l := range e.laws {
			values[i] = v.of(l)
		}
		*v.interval = percentiles(values)
	}
	return e, nil
}

// resample fits the laws of resamples: the predictions of the variables x with other residuals.
func (e *Ensemble) resample(p problem, x vector, resamples int, random *rand.Rand) error {
	predicted, residuals := make([]float64, len(p.loss)), make([]float64, len(p.loss))
	for i := range predicted {
		predicted[i], _ = p.predict(x, i)
		residuals[i] = p.loss[i] - predicted[i]
	}
	residuals = noise(residuals)
	var failure error
	for range resamples {
		for i := range predicted {
			p.loss[i] = predicted[i] + residuals[random.IntN(len(residuals))]
		}
		own := residuals[random.IntN(len(residuals))]
		y, err := p.fit([]vector{x})
		if err == nil {
			var l Law
			if l, err = p.law(y); err == nil {
				e.laws, e.noise = append(e.laws, l), append(e.noise, own)
			}
		}
		failure = cmp.Or(err, failure)
	}
	if failed := resamples - len(e.laws); failed > resamples/100 {
		return errors.Wrapf(failure, "resamples: got no law of %d, want one of all but %d", failed, resamples/100)
	}
	return nil
}

// noise returns the residuals to draw from: all but the smallest, one for each variable, enlarged because they are few.
func noise(residuals []float64) []float64 {
	slices.SortFunc(residuals, func(r, s float64) int { return cmp.Compare(math.Abs(r), math.Abs(s)) })
	residuals = residuals[variables:]
	student := distuv.StudentsT{Sigma: 1, Nu: float64(len(residuals))}
	scale := student.Quantile(1-outside/2) / distuv.UnitNormal.Quantile(1-outside/2)
	for i := range residuals {
		residuals[i] *= scale
	}
	return residuals
}

// Predict returns the interval of the loss of one new run with n parameters and d tokens, including the run's noise.
func (e Ensemble) Predict(n, d float64) (Interval, error) {
	for _, v := range []quantity{{"N", n}, {"D", d}} {
		if err := v.check(); err != nil {
			return Interval{}, err
		}
	}
	if len(e.laws) == 0 {
		return Interval{}, errors.New("laws: got none, want an Ensemble of Bootstrap")
	}
	values := make([]float64, len(e.laws))
	for i, l := range e.laws {
		values[i] = l.At(n, d) * math.Exp(e.noise[i])
	}
	return percentiles(values), nil
}

// percentiles returns the interval that leaves out equal shares of the values on both sides. It sorts the values.
func percentiles(values []float64) Interval {
	slices.Sort(values)
	return Interval{
		Low:  stat.Quantile(outside/2, stat.LinInterp, values, nil),
		High: stat.Quantile(1-outside/2, stat.LinInterp, values, nil),
	}
}
