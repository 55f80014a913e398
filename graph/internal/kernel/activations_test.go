package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

func gelu(x float64) (y, slope float64) {
	cdf, pdf := math.Erfc(-x/math.Sqrt2)/2, math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
	return x * cdf, cdf + x*pdf
}

func geluTanh(x float64) (y, slope float64) {
	c := math.Sqrt(2 / math.Pi)
	h := math.Tanh(c * (x + 0.044715*x*x*x))
	return x * (1 + h) / 2, (1+h)/2 + x/2*(1-h*h)*c*(1+3*0.044715*x*x)
}

// ramp returns numbers of every size at which the activations bend, and some beyond.
func ramp[T Float]() []T {
	x := []T{0, 1e-30, -1e-30, 1e-4, -1e-4, 6, -6, 100, -100, 3e4, -3e4}
	for v := -13.; v < 13; v += 0.00071 {
		x = append(x, T(v))
	}
	return x
}

func TestGELU(t *testing.T) {
	one32, one64 := ones[float32](len(ramp[float32]())), ones[float64](len(ramp[float64]()))
	for _, c := range []struct {
		name     string
		want     func(float64) (float64, float64)
		f32, d32 func(p *Pool, y, x []float32)
		f64, d64 func(p *Pool, y, x []float64)
	}{
		{"exact", gelu,
			GELU[float32], func(p *Pool, dx, x []float32) { GELUBackward(p, dx, x, one32) },
			GELU[float64], func(p *Pool, dx, x []float64) { GELUBackward(p, dx, x, one64) }},
		{"tanh", geluTanh,
			GELUTanh[float32], func(p *Pool, dx, x []float32) { GELUTanhBackward(p, dx, x, one32) },
			GELUTanh[float64], func(p *Pool, dx, x []float64) { GELUTanhBackward(p, dx, x, one64) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			value := func(x float64) float64 { y, _ := c.want(x); return y }
			slope := func(x float64) float64 { _, d := c.want(x); return d }
			near(t, "float32 value", c.f32, value, 2.5e-7)
			near(t, "float32 derivative", c.d32, slope, 2.5e-7)
			near(t, "float64 value", c.f64, value, 1e-15)
			near(t, "float64 derivative", c.d64, slope, 1e-14)
		})
	}
}

func ones[T Float](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// near asserts |f(x) − want(x)| ≤ tolerance·max(1, |want|), on one thread and on three with the same bits.
func near[T Float](
	t *testing.T, what string, f func(p *Pool, y, x []T), want func(float64) float64, tolerance float64,
) {
	t.Helper()
	x := ramp[T]()
	y, again := make([]T, len(x)), make([]T, len(x))
	f(NewPool(1), y, x)
	f(NewPool(3), again, x)
	if !kerneltest.SameBits(y, again) {
		t.Errorf("%s: three threads give other bits", what)
	}
	worst, at := 0.0, T(0)
	for i, v := range x {
		w := want(float64(v))
		if e := math.Abs(float64(y[i])-w) / max(1, math.Abs(w)); !(e <= worst) {
			worst, at = e, v
		}
	}
	t.Logf("%s: at most %.2g off, at %v", what, worst, at)
	if !(worst <= tolerance) {
		t.Errorf("%s: %.2g off at %v, want ≤ %.0e", what, worst, at, tolerance)
	}
}

func TestActivationsPassNaNOn(t *testing.T) {
	nan := float32(math.NaN())
	for name, f := range map[string]func(p *Pool, y, x []float32){
		"GELU": GELU[float32], "GELUTanh": GELUTanh[float32], "ReLU": ReLU[float32], "ReLU2": ReLU2[float32],
	} {
		y := []float32{0}
		if f(NewPool(1), y, []float32{nan}); y[0] == y[0] {
			t.Errorf("%s(NaN) is %v", name, y[0])
		}
	}
}

func TestReLU(t *testing.T) {
	x, dy := []float64{-2, 0, 3}, []float64{5, 7, 11}
	y, dx := make([]float64, 3), make([]float64, 3)
	ReLU(NewPool(1), y, x)
	ReLUBackward(NewPool(1), dx, x, dy)
	if y[0] != 0 || y[1] != 0 || y[2] != 3 || dx[0] != 0 || dx[1] != 0 || dx[2] != 11 {
		t.Errorf("got %v and %v", y, dx)
	}
}

func TestReLU2(t *testing.T) {
	x, dy := []float64{-2, 0, 3}, []float64{5, 7, 11}
	y, dx := make([]float64, 3), make([]float64, 3)
	ReLU2(NewPool(1), y, x)
	ReLU2Backward(NewPool(1), dx, x, dy)
	if y[0] != 0 || y[1] != 0 || y[2] != 9 || dx[0] != 0 || dx[1] != 0 || dx[2] != 66 {
		t.Errorf("got %v and %v", y, dx)
	}
}

func BenchmarkGELU(b *testing.B) {
	x := kerneltest.Random[float32](rand.New(rand.NewPCG(1, 1)), 768*512)
	y := make([]float32, len(x))
	for name, f := range map[string]func(p *Pool, y, x []float32){"exact": GELU[float32], "tanh": GELUTanh[float32]} {
		b.Run(name, func(b *testing.B) {
			p := NewPool(1)
			for b.Loop() {
				f(p, y, x)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(len(x)), "ns/entry")
		})
	}
}

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
		{
			"sigmoid", logisticOf, Sigmoid[float32], SigmoidBackward[float32], Sigmoid[float64],
			SigmoidBackward[float64], 2.5e-7,
		},
		{"silu", siluOf, SiLU[float32], SiLUBackward[float32], SiLU[float64], SiLUBackward[float64], 2.5e-7},
		{
			"softplus", softplusOf, Softplus[float32], SoftplusBackward[float32], Softplus[float64],
			SoftplusBackward[float64], 2.5e-7,
		},
	} {
		for _, set := range []*simd.Set{simd.Of[float32](), nil} {
			t.Run(c.name+"/"+set.String(), func(t *testing.T) {
				defer simd.Use(set)()
				value := func(x float64) float64 { y, _ := c.want(x); return y }
				slope := func(x float64) float64 { _, d := c.want(x); return d }
				near(t, "float32 value", c.f32, value, c.accuracy)
				near(
					t, "float32 derivative", func(p *Pool, dx, x []float32) { c.d32(p, dx, x, one32) }, slope,
					c.accuracy,
				)
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
	if s, rest := Logistic(-1000.); s != 0 || rest != 1 {
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
	relative(
		"its derivative", 4.248354255291589e-18, 2.0611536139418494e-9, 2.0611536139418494e-9, 4.248354255291589e-18,
	)
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
