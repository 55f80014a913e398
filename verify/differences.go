package verify

import (
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// differenceStep balances the square of the step against rounding.
const differenceStep = 1e-5

// byDifferences compares autodiff of the reference form, which is roads[0], with central differences of the loss, and
// the kernels with autodiff.
func byDifferences(w work, roads []*results, loss graph.Expr, wrt []graph.Expr,
	tolerance32 float64, look sampling, seed uint64) (*Report, error) {
	p, err := graph.Compile(loss)
	if err != nil {
		return nil, err
	}
	values := map[string]graph.Tensor{}
	for _, x := range wrt {
		values[x.Name()] = x.Tensor()
	}
	autodiff := roads[0].grads
	var g hand.Gradients[float64]
	for name, value := range autodiff {
		g = append(g, hand.Gradient[float64]{Name: name, Value: value})
	}
	r := &Report{Loss: roads[0].loss, Tolerance: Tolerance, ToleranceFloat32: tolerance32, Rows: caseRows(g)}
	r.rounding(roads)
	if err := r.compare(roads, autodiff); err != nil {
		return nil, err
	}
	err = r.oneByOne(w.alone(), differences, autodiff, look, rand.New(rand.NewPCG(seed, 5)),
		func(name string, i int) (float64, error) {
			return difference(p, values[name], i, autodiff[name].Data[i])
		})
	if err != nil {
		return nil, err
	}
	return r.done(autodiff, roads), nil
}

// difference returns the derivative of the output of p by entry i of x: the central difference (f(h) − f(−h))/2h. If
// that is not the expected slope, the function may be steep, so the slope of fourth order
// (8(f(h) − f(−h)) − f(2h) + f(−2h))/12h is tried; or a bend of the function (ReLU) may lie within h. It lies on one
// side, so the one-sided second-order slopes (4f(h) − f(2h) − 3f(0))/2h of both sides are tried, and the nearest slope
// counts. A wrong expected slope is near none of them.
func difference(p *graph.Program, x graph.Tensor, i int, expected float64) (float64, error) {
	const h = differenceStep
	here := x.At(i)
	defer x.Set(i, here)
	var failed error
	f := func(step float64) float64 {
		x.Set(i, here+step)
		if err := p.Run(); err != nil {
			failed = err
			return math.NaN()
		}
		return p.Loss()
	}
	up, down := f(h), f(-h)
	slope := (up - down) / (2 * h)
	off := func(d float64) float64 { return math.Abs(d - expected) }
	if failed != nil || off(slope) <= toleranceDifferences*math.Abs(expected) {
		return slope, failed
	}
	up2, zero, down2 := f(2*h), f(0), f(-2*h)
	for _, d := range []float64{
		(8*(up-down) - up2 + down2) / (12 * h), (4*up - up2 - 3*zero) / (2 * h), (3*zero - 4*down + down2) / (2 * h),
	} {
		if off(d) < off(slope) {
			slope = d
		}
	}
	return slope, failed
}
