package recurrent

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// The gates of a real-gated unit and its input are the equations, at gates near 0 and 1 as well, and the gradients are
// their derivatives.
func TestLRU(t *testing.T) {
	const power = 8
	rng := rand.New(rand.NewPCG(1, 7))
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, size := range [][2]int{{1, 1}, {3, 5}, {4, 37}} {
		rows, d := size[0], size[1]
		z, v := kerneltest.Random[float64](rng, rows*d), kerneltest.Random[float64](rng, rows*d)
		lambda, dc := kerneltest.Random[float64](rng, d), kerneltest.Random[float64](rng, rows*d)
		dy := kerneltest.Random[float64](rng, rows*d)
		for i := range z {
			z[i] *= 2
		}
		l, p := LRU{power}, kernel.NewPool(2)
		decay := func() []float64 {
			c := make([]float64, len(z))
			Decay(p, l, c, z, lambda, make([]float64, d))
			return c
		}
		c := decay()
		input := func() []float64 {
			y := make([]float64, len(v))
			Input(p, y, v, c)
			return y
		}
		share := func() []float64 {
			s := make([]float64, len(z))
			Share(p, s, z)
			return s
		}
		wantC, wantY, wantS := make([]float64, len(z)), make([]float64, len(z)), make([]float64, len(z))
		for i := range z {
			a := math.Pow(sigmoid(lambda[i%d]), power*sigmoid(z[i]))
			wantC[i], wantY[i], wantS[i] = a-1, math.Sqrt(1-a*a)*v[i], -sigmoid(z[i])
		}
		at := fmt.Sprint(size)
		near(t, at+": a − 1", c, wantC, 1e-14)
		near(t, at+": input", input(), wantY, 1e-14)
		near(t, at+": share", share(), wantS, 1e-14)

		begin := func() []float64 { return kerneltest.Random[float64](rng, rows*d) } // gradients are added
		dz, dlambda, dv, dcInput, dzShare := begin(), begin()[:d], begin(), begin(), begin()
		before := [][]float64{
			slices.Clone(dz), slices.Clone(dlambda), slices.Clone(dv), slices.Clone(dcInput), slices.Clone(dzShare),
		}
		DecayBackward(p, l, dz, dlambda, dc, c, z, lambda)
		InputBackward(p, dv, dcInput, dy, v, c)
		ShareBackward(p, dzShare, dc, share())
		for i, tc := range []struct {
			what string
			x    []float64
			f    func() []float64
			by   []float64
			got  []float64
		}{
			{"z", z, decay, dc, dz}, {"Λ", lambda, decay, dc, dlambda}, {"v", v, input, dy, dv},
			{"c", c, input, dy, dcInput},
			{"z of the share", z, share, dc, dzShare},
		} {
			for j := range tc.x {
				e := make([]float64, len(tc.x))
				e[j] = 1
				want := before[i][j] + slope(tc.x, e, func() (sum float64) {
					for k, y := range tc.f() {
						sum += y * tc.by[k]
					}
					return sum
				})
				if got := tc.got[j]; !(math.Abs(got-want) <= 1e-5*max(1, math.Abs(want))) {
					t.Errorf("%s: gradient of %s, entry %d: got %v, want %v", at, tc.what, j, got, want)
				}
			}
		}
	}
}

// At a gate of 1 the root has no derivative: the gradient of c stays, and the gradient of v grows by 0.
func TestLRUInputAtOne(t *testing.T) {
	dv, dc := []float64{3, 3}, []float64{5, 5}
	InputBackward(kernel.NewPool(1), dv, dc, []float64{7, 7}, []float64{2, 2}, []float64{0, -1})
	if dv[0] != 3 || dc[0] != 5 || dv[1] != 10 || dc[1] != 5 {
		t.Errorf("got gradients %v and %v, want [3 10] and [5 5]", dv, dc)
	}
}
