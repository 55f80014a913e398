package optim

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// Three steps beside the published sequences x, y and z, with two steps of warm-up: c is 1, 4/5 and 9/14. The moving
// average of y by Share is x.
func TestScheduleFree(t *testing.T) {
	const rate, decay, beta1, beta2, eps = 0.5, 0.25, 0.75, 0.5, 1
	y, m, v := []float64{2}, []float64{0}, []float64{0}
	wantX, wantY, wantZ, wantV, average := 2.0, 2.0, 2.0, 0.0, 2.0
	o := ScheduleFree{Beta1: beta1, Beta2: beta2, Eps: eps, Warmup: 2}
	for i, c := range []float64{1, 4. / 5, 9. / 14, 9. / 23} {
		g := []float64{3, -1, 0.5, 2}[i]
		o.Step(Step{T: i + 1, Rate: rate, Decay: decay, Scale: 2, W: graph.Tensor{F64: y},
			G: graph.Tensor{F64: []float64{g / 2}}, M: graph.Tensor{F64: m}, V: graph.Tensor{F64: v}})
		wantV = beta2*wantV + (1-beta2)*g*g
		root := math.Sqrt(wantV / (1 - math.Pow(beta2, float64(i+1))))
		wantZ -= rate * (g/(root+eps) + decay*wantY)
		wantX = (1-c)*wantX + c*wantZ
		wantY = (1-beta1)*wantZ + beta1*wantX
		average += o.Share(i+1) * (y[0] - average)
		for _, got := range [][2]float64{{y[0], wantY}, {m[0], wantZ}, {v[0], wantV}, {average, wantX}} {
			if !(math.Abs(got[0]-got[1]) <= 1e-14) {
				t.Errorf("step %d: got y, z, v and x %v %v %v %v, want %v %v %v %v", i+1, y[0], m[0], v[0], average,
					wantY, wantZ, wantV, wantX)
				break
			}
		}
	}
}

// Without warm-up all steps count alike, and β₁ = 0 is 0.9.
func TestScheduleFreeDefaults(t *testing.T) {
	for step := 1; step < 5; step++ {
		if got := (ScheduleFree{}).weight(step); !(math.Abs(got-1/float64(step)) <= 1e-15) {
			t.Errorf("step %d: c is %v, want %v", step, got, 1/float64(step))
		}
	}
	if got, want := (ScheduleFree{}).Share(2), 0.5/(0.1+0.45); !(math.Abs(got-want) <= 1e-15) {
		t.Errorf("got share %v, want %v", got, want)
	}
}
