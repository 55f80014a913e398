package kernel

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// everywhere returns float32 numbers of all sizes, and more where the functions bend.
func everywhere() []float32 {
	var x []float32
	for bits := uint64(0); bits < 1<<32; bits += 9973 {
		x = append(x, math.Float32frombits(uint32(bits)))
	}
	for v := -105.0; v < 90; v += 0.00137 {
		x = append(x, float32(v))
	}
	for v := -15.0; v < 15; v += 0.000213 {
		x = append(x, float32(v))
	}
	return x
}

// TestVectorFunctionsAreAccurate: the functions are as accurate as their descriptions state.
func TestVectorFunctionsAreAccurate(t *testing.T) {
	x := everywhere()
	y, other, one := make([]float32, len(x)), make([]float32, len(x)), ones[float32](len(x))
	absolute := func(got float32, want float64) float64 { return math.Abs(float64(got)-want) / max(1, math.Abs(want)) }
	kerneltest.EachSet(t, func(t *testing.T, v *simd.Set) {
		for _, c := range []struct {
			name  string
			f     func()
			want  func(x float64) float64
			err   func(got float32, want float64) float64
			limit float64
		}{
			{"exp", func() { v.Exp(y, x, 0, 1) }, math.Exp, ulps, 0.9},
			{"gelu", func() { v.Gelu(y, x) }, func(x float64) float64 { y, _ := gelu(x); return y }, ulps, 6},
			{"geluBackward", func() { v.GeluBackward(y, x, one) }, func(x float64) float64 { _, d := gelu(x); return d }, absolute, 2e-7},
			{"geluTanh", func() { v.GeluTanh(y, x) }, func(x float64) float64 { y, _ := geluTanh(x); return y }, absolute, 1.5e-7},
			{"geluTanhBackward", func() { v.GeluTanhBackward(y, x, one) }, func(x float64) float64 { _, d := geluTanh(x); return d }, absolute, 2e-7},
			{"sigmoid", func() { v.Sigmoid(y, x) }, func(x float64) float64 { y, _ := logisticOf(x); return y }, absolute, 1.5e-7},
			{"sigmoidBackward", func() { v.SigmoidBackward(y, x, one) }, func(x float64) float64 { _, d := logisticOf(x); return d }, absolute, 1e-7},
			{"silu", func() { v.Silu(y, x) }, func(x float64) float64 { y, _ := siluOf(x); return y }, absolute, 1.5e-7},
			{"siluBackward", func() { v.SiluBackward(y, x, one) }, func(x float64) float64 { _, d := siluOf(x); return d }, absolute, 2e-7},
			{"swiglu", func() { v.Swiglu(y, x, one) }, func(x float64) float64 { y, _ := siluOf(x); return y }, absolute, 1.5e-7},
			{"swigluBackward, gate", func() { v.SwigluBackward(y, other, x, one, one) }, func(x float64) float64 { _, d := siluOf(x); return d }, absolute, 2e-7},
			{"swigluBackward, up", func() { v.SwigluBackward(other, y, x, one, one) }, func(x float64) float64 { y, _ := siluOf(x); return y }, absolute, 1.5e-7},
		} {
			c.f()
			worst, at := 0.0, float32(0)
			for i, x := range x {
				want := c.want(float64(x))
				switch {
				case math.IsInf(float64(x), 0):
					continue // TestVectorFunctionsAtTheEnds
				case want != want: // 0·∞ in the reference, beyond 1e100
					want = math.Inf(1)
				case math.Abs(want) > math.MaxFloat32:
					want = math.Copysign(math.Inf(1), want)
				}
				if x != x {
					if y[i] == y[i] {
						t.Errorf("%s(NaN): got %v", c.name, y[i])
					}
					continue
				}
				if float64(y[i]) == want || y[i] == 0 && math.Abs(want) < 0x1p-126*(1+1e-5) {
					continue // only numbers below the normal ones differ
				}
				if e := c.err(y[i], want); !(e <= worst) {
					worst, at = e, x
				}
			}
			t.Logf("%s: at most %.3g off, at %v", c.name, worst, at)
			if !(worst <= c.limit) {
				t.Errorf("%s: %.3g off at %v, want ≤ %v", c.name, worst, at, c.limit)
			}
		}
	})
}

// TestVectorFunctionsAtTheEnds compares special numbers with plain Go, and checks the limits.
func TestVectorFunctionsAtTheEnds(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	kerneltest.EachSet(t, func(t *testing.T, v *simd.Set) {
		for _, c := range []struct {
			name string
			f    func(y, x []float32)
			x, y []float32
		}{
			{"exp", func(y, x []float32) { v.Exp(y, x, 0, 1) },
				[]float32{0, inf, -inf, 1e38, -1e38, nan, -104, 89, 1e-45}, []float32{1, inf, 0, inf, 0, nan, 0, inf, 1}},
			{"exp, shifted", func(y, x []float32) { v.Exp(y, x, inf, 1) }, []float32{inf, 1, nan}, []float32{nan, 0, nan}},
			{"relu", v.Relu, []float32{inf, -inf, nan, 1e-45, -1e-45}, []float32{inf, 0, nan, 1e-45, 0}},
			{"gelu", v.Gelu, []float32{0, inf, -inf, nan, 1e38, -1e38}, []float32{0, inf, 0, nan, 1e38, 0}},
			{"geluTanh", v.GeluTanh, []float32{0, inf, -inf, nan, 1e38, -1e38}, []float32{0, inf, 0, nan, 1e38, 0}},
			{"sigmoid", v.Sigmoid, []float32{0, inf, -inf, nan, 1e38, -1e38, -1000}, []float32{0.5, 1, 0, nan, 1, 0, 0}},
			{"sigmoidBackward", func(y, x []float32) { v.SigmoidBackward(y, x, ones[float32](len(x))) },
				[]float32{0, inf, -inf, nan, 1e38, -1e38, -1000}, []float32{0.25, 0, 0, nan, 0, 0, 0}},
			{"silu", v.Silu, []float32{0, inf, -inf, nan, 1e38, -1e38, -1000}, []float32{0, inf, 0, nan, 1e38, 0, 0}},
			{"siluBackward", func(y, x []float32) { v.SiluBackward(y, x, ones[float32](len(x))) },
				[]float32{inf, -inf, nan, 1e38, -1e38, 1000, -1000}, []float32{1, 0, nan, 1, 0, 1, 0}},
			{"swiglu", func(y, x []float32) { v.Swiglu(y, x, ones[float32](len(x))) },
				[]float32{0, inf, -inf, nan, 1e38, -1e38, -1000}, []float32{0, inf, 0, nan, 1e38, 0, 0}},
			{"swigluBackward, gate", func(y, x []float32) {
				v.SwigluBackward(y, make([]float32, len(x)), x, ones[float32](len(x)), ones[float32](len(x)))
			}, []float32{inf, -inf, nan, 1e38, -1e38, 1000, -1000}, []float32{1, 0, nan, 1, 0, 1, 0}},
			{"swigluBackward, up", func(y, x []float32) {
				v.SwigluBackward(make([]float32, len(x)), y, x, ones[float32](len(x)), ones[float32](len(x)))
			}, []float32{0, inf, -inf, nan, 1e38, -1e38, -1000}, []float32{0, inf, 0, nan, 1e38, 0, 0}},
			{"geluBackward", func(y, x []float32) { v.GeluBackward(y, x, ones[float32](len(x))) },
				[]float32{inf, -inf, nan, 1e38, -1e38}, []float32{1, 0, nan, 1, 0}},
			{"geluTanhBackward", func(y, x []float32) { v.GeluTanhBackward(y, x, ones[float32](len(x))) },
				[]float32{inf, -inf, nan, 1e38, -1e38}, []float32{1, 0, nan, 1, 0}},
			{"reluBackward", func(y, x []float32) { v.ReluBackward(y, x, []float32{1, 2, 3, nan, inf, 6}) },
				[]float32{inf, -inf, nan, 1, -1, 0}, []float32{1, 0, 0, nan, 0, 0}},
		} {
			y := make([]float32, len(c.x))
			c.f(y, c.x)
			for i, want := range c.y {
				if y[i] != want && !(y[i] != y[i] && want != want) {
					t.Errorf("%s(%v): got %v, want %v", c.name, c.x[i], y[i], want)
				}
			}
		}
	})
}

// TestPlainActivationsHaveTheSameLimits: plain Go has the same limits as the vectors.
func TestPlainActivationsHaveTheSameLimits(t *testing.T) {
	x := []float64{math.Inf(1), math.Inf(-1), 1e200, -1e200}
	y, d, one := make([]float64, 4), make([]float64, 4), ones[float64](4)
	for name, f := range map[string]func(){
		"exact": func() { GELU(NewPool(1), y, x); GELUBackward(NewPool(1), d, x, one) },
		"tanh":  func() { GELUTanh(NewPool(1), y, x); GELUTanhBackward(NewPool(1), d, x, one) },
	} {
		f()
		close64(t, name+" value", y[2:], []float64{1e200, 0}, 0)
		close64(t, name+" derivative", d, []float64{1, 0, 1, 0}, 0)
		if y[0] != x[0] || y[1] != 0 {
			t.Errorf("%s of ±∞: %v", name, y[:2])
		}
	}
}
