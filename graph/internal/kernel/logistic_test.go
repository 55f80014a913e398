package kernel

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// The logistic function, x times it and its integral, each with its derivative, in float64: nothing overflows, and 1 −
// σ is σ of −x.
func logisticOf(x float64) (y, slope float64) {
	s, rest := 1/(1+math.Exp(-x)), 1/(1+math.Exp(x))
	return s, s * rest
}

func siluOf(x float64) (y, slope float64) {
	s, d := logisticOf(x)
	return x * s, s + x*d
}

func softplusOf(x float64) (y, slope float64) {
	s, _ := logisticOf(x)
	return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))), s
}

// The three functions and their derivatives are correct in both types, in Go and in vectors.
func TestLogistic(t *testing.T) {
	one32, one64 := ones[float32](len(ramp[float32]())), ones[float64](len(ramp[float64]()))
	for _, c := range []struct {
		name     string
		want     func(float64) (float64, float64)
		f32      func(p *Pool, y, x []float32)
		d32      func(p *Pool, dx, x, dy []float32)
		f64      func(p *Pool, y, x []float64)
		d64      func(p *Pool, dx, x, dy []float64)
		accuracy float64
	}{
		{"sigmoid", logisticOf, Sigmoid[float32], SigmoidBackward[float32], Sigmoid[float64], SigmoidBackward[float64], 2.5e-7},
		{"silu", siluOf, SiLU[float32], SiLUBackward[float32], SiLU[float64], SiLUBackward[float64], 2.5e-7},
		{"softplus", softplusOf, Softplus[float32], SoftplusBackward[float32], Softplus[float64], SoftplusBackward[float64], 2.5e-7},
	} {
		for _, set := range []*simd.Set{simd.Of[float32](), nil} {
			t.Run(c.name+"/"+set.String(), func(t *testing.T) {
				defer simd.Use(set)()
				value := func(x float64) float64 { y, _ := c.want(x); return y }
				slope := func(x float64) float64 { _, d := c.want(x); return d }
				near(t, "float32 value", c.f32, value, c.accuracy)
				near(t, "float32 derivative", func(p *Pool, dx, x []float32) { c.d32(p, dx, x, one32) }, slope, c.accuracy)
				near(t, "float64 value", c.f64, value, 1e-15)
				near(t, "float64 derivative", func(p *Pool, dx, x []float64) { c.d64(p, dx, x, one64) }, slope, 1e-15)
			})
		}
	}
}

// Far from 0 a small result has all its digits: nothing cancels.
func TestLogisticKeepsDigits(t *testing.T) {
	logisticDigits[float64](t, 1e-14)
	logisticDigits[float32](t, 5e-7)
	defer simd.Use(nil)()
	logisticDigits[float32](t, 5e-7)
	if s, rest := sigmoid(-1000.); s != 0 || rest != 1 {
		t.Errorf("σ(−1000) is %v, 1 − σ %v, want 0 and 1", s, rest)
	}
	const n = 4000
	sum := 0.0 // of errors near 1, where the series is longest; rounding errors cancel
	for i := range n {
		e := float32(1 - 0.05*float64(i)/n)
		sum += float64(log1p(e))/math.Log1p(float64(e)) - 1
	}
	if !(math.Abs(sum/n) <= 4e-8) {
		t.Errorf("ln(1 + e^x) is off by %.1e on the average", sum/n)
	}
}

func logisticDigits[T Float](t *testing.T, tolerance float64) {
	x := []T{-40, -20, 20, 40}
	y, one, p := make([]T, 4), ones[T](4), NewPool(1)
	relative := func(what string, want ...float64) {
		t.Helper()
		for i, w := range want {
			if !(math.Abs(float64(y[i])-w) <= tolerance*w) {
				t.Errorf("%T %s of %v: got %v, want %v", x[i], what, x[i], y[i], w)
			}
		}
	}
	Sigmoid(p, y, x)
	relative("sigmoid", 4.248354255291589e-18, 2.0611536181902037e-9, 1-2.0611536181902037e-9, 1)
	SigmoidBackward(p, y, x, one)
	relative("its derivative", 4.248354255291589e-18, 2.0611536139418494e-9, 2.0611536139418494e-9, 4.248354255291589e-18)
	Softplus(p, y, x)
	relative("softplus", 4.248354255291589e-18, 2.061153620314381e-9, 20+2.061153620314381e-9, 40)
}

// At ±1000 and ±∞ the three functions and their derivatives equal their limits, and NaN stays NaN.
func TestLogisticAtTheEnds(t *testing.T) {
	logisticEnds[float32](t)
	logisticEnds[float64](t)
}

func logisticEnds[T Float](t *testing.T) {
	inf, nan := T(math.Inf(1)), T(math.NaN())
	x := []T{-inf, -1000, 1000, inf, nan}
	for _, c := range []struct {
		name     string
		f        func(p *Pool, y, x []T)
		back     func(p *Pool, dx, x, dy []T)
		y, slope []T
	}{
		{"sigmoid", Sigmoid[T], SigmoidBackward[T], []T{0, 0, 1, 1, nan}, []T{0, 0, 0, 0, nan}},
		{"silu", SiLU[T], SiLUBackward[T], []T{0, 0, 1000, inf, nan}, []T{0, 0, 1, 1, nan}},
		{"softplus", Softplus[T], SoftplusBackward[T], []T{0, 0, 1000, inf, nan}, []T{0, 0, 1, 1, nan}},
	} {
		y, dx := make([]T, len(x)), make([]T, len(x))
		c.f(NewPool(1), y, x)
		c.back(NewPool(1), dx, x, ones[T](len(x)))
		for i, v := range x {
			for what, pair := range map[string][2]T{"": {y[i], c.y[i]}, "'": {dx[i], c.slope[i]}} {
				if got, want := pair[0], pair[1]; got != want && !(got != got && want != want) {
					t.Errorf("%T %s%s(%v): got %v, want %v", v, c.name, what, v, got, want)
				}
			}
		}
	}
}

// The result of the backward pass is the derivative times its input.
func TestLogisticGradients(t *testing.T) {
	x, dy, p := []float64{-3, -0.5, 0, 2}, []float64{2, -3, 5, 0.5}, NewPool(1)
	for name, back := range map[string]func(p *Pool, dx, x, dy []float64){
		"sigmoid": SigmoidBackward[float64], "silu": SiLUBackward[float64], "softplus": SoftplusBackward[float64],
	} {
		dx, slope := make([]float64, 4), make([]float64, 4)
		back(p, dx, x, dy)
		back(p, slope, x, ones[float64](4))
		for i, s := range slope {
			if want := s * dy[i]; !(math.Abs(dx[i]-want) <= 1e-15*math.Abs(want)) {
				t.Errorf("%s at %v: got %v, want %v", name, x[i], dx[i], want)
			}
		}
	}
}
