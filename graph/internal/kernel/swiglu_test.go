package kernel

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// The result is silu(x)·u, with the derivatives by both, in both types, in Go and in vectors.
func TestSwiGLU(t *testing.T) {
	swiGLU[float64](t, 6e-15)
	swiGLU[float32](t, 2e-6)
	defer simd.Use(nil)()
	swiGLU[float32](t, 2e-6)
}

func swiGLU[T Float](t *testing.T, tolerance float64) {
	x := ramp[T]()
	u, dy := make([]T, len(x)), make([]T, len(x))
	y, dx, du := make([]T, len(x)), make([]T, len(x)), make([]T, len(x))
	for i := range x {
		u[i], dy[i] = T(3*math.Sin(float64(i))), T(2*math.Cos(float64(3*i)))
	}
	p := NewPool(2)
	SwiGLU(p, y, x, u)
	SwiGLUBackward(p, dx, du, x, u, dy)
	for i, v := range x {
		silu, slope := siluOf(float64(v))
		for what, pair := range map[string][2]float64{
			"y":  {float64(y[i]), silu * float64(u[i])},
			"dx": {float64(dx[i]), slope * float64(u[i]) * float64(dy[i])},
			"du": {float64(du[i]), silu * float64(dy[i])},
		} {
			if got, want := pair[0], pair[1]; !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
				t.Fatalf("%T %s at %v, %v: got %v, want %v", v, what, v, u[i], got, want)
			}
		}
	}
}

// A gate at ±∞ is open or closed: the results are the limits of silu and its derivative, and NaN stays NaN.
func TestSwiGLUAtTheEnds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	x, two := []float64{-inf, -1000, 1000, inf, nan}, []float64{2, 2, 2, 2, 2}
	y, dx, du := make([]float64, 5), make([]float64, 5), make([]float64, 5)
	SwiGLU(NewPool(1), y, x, two)
	SwiGLUBackward(NewPool(1), dx, du, x, two, two)
	for i := range x {
		for what, pair := range map[string][2]float64{
			"y": {y[i], []float64{0, 0, 2000, inf, nan}[i]}, "du": {du[i], []float64{0, 0, 2000, inf, nan}[i]},
			"dx": {dx[i], []float64{0, 0, 4, 4, nan}[i]},
		} {
			if got, want := pair[0], pair[1]; got != want && !(got != got && want != want) {
				t.Errorf("%s at %v: got %v, want %v", what, x[i], got, want)
			}
		}
	}
}
