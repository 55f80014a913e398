package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
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
func near[T Float](t *testing.T, what string, f func(p *Pool, y, x []T), want func(float64) float64, tolerance float64) {
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
	for name, f := range map[string]func(p *Pool, y, x []float32){"GELU": GELU[float32], "GELUTanh": GELUTanh[float32], "ReLU": ReLU[float32]} {
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
