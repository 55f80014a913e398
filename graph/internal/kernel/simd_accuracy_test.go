package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
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
	atLeast := func(least float64) func(got float32, want float64) float64 {
		return func(got float32, want float64) float64 {
			if want < least {
				want = 0
			}
			return ulps(got, want)
		}
	}
	relative := func(got float32, want float64) float64 { // a number below 2⁻⁹⁵ counts as 0
		return math.Max(0, math.Abs(float64(got)-want)-0x1p-95) / math.Abs(want)
	}
	above80 := func(got float32, want float64) float64 { // a number below 2⁻⁸⁰ counts as 0
		if got == 0 && want < 0x1p-79 {
			return 0
		}
		return math.Abs(float64(got)-want) / want
	}
	wants := map[string][]float64{} // the same for every set
	kerneltest.EachSet(t, func(t *testing.T, v *simd.Set) {
		for _, c := range []struct {
			name  string
			f     func()
			want  func(x float64) float64
			err   func(got float32, want float64) float64
			limit float64
		}{
			{"exp", func() { v.Exp(y, x, 0, 1) }, math.Exp, ulps, 0.9},
			{"relu2", func() { v.Relu2(y, x) }, func(x float64) float64 { return max(x, 0) * max(x, 0) }, ulps, 0.5},
			{
				"relu2Backward", func() { v.Relu2Backward(y, x, one) },
				func(x float64) float64 { return 2 * max(x, 0) }, atLeast(0x1p-62), 0,
			},
			{"gelu", func() { v.Gelu(y, x) }, func(x float64) float64 { y, _ := gelu(x); return y }, ulps, 6},
			{
				"geluBackward", func() { v.GeluBackward(y, x, one) },
				func(x float64) float64 { _, d := gelu(x); return d }, absolute, 2e-7,
			},
			{
				"geluTanh", func() { v.GeluTanh(y, x) }, func(x float64) float64 { y, _ := geluTanh(x); return y },
				absolute, 1.5e-7,
			},
			{
				"geluTanhBackward", func() { v.GeluTanhBackward(y, x, one) },
				func(x float64) float64 { _, d := geluTanh(x); return d }, absolute, 2e-7,
			},
			{
				"sigmoid", func() { v.Sigmoid(y, x) }, func(x float64) float64 { y, _ := logisticOf(x); return y },
				absolute, 1.5e-7,
			},
			{
				"sigmoidBackward", func() { v.SigmoidBackward(y, x, one) },
				func(x float64) float64 { _, d := logisticOf(x); return d }, absolute, 1e-7,
			},
			{
				"silu", func() { v.Silu(y, x) }, func(x float64) float64 { y, _ := siluOf(x); return y }, absolute,
				1.5e-7,
			},
			{
				"siluBackward", func() { v.SiluBackward(y, x, one) },
				func(x float64) float64 { _, d := siluOf(x); return d }, absolute, 2e-7,
			},
			{"softplus", func() { v.Softplus(y, x) },
				func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }, relative, 3e-7},
			{
				"swiglu", func() { v.Swiglu(y, x, one) }, func(x float64) float64 { y, _ := siluOf(x); return y },
				absolute, 1.5e-7,
			},
			{
				"swigluBackward, gate", func() { v.SwigluBackward(y, other, x, one, one) },
				func(x float64) float64 { _, d := siluOf(x); return d }, absolute, 2e-7,
			},
			{
				"swigluBackward, up", func() { v.SwigluBackward(other, y, x, one, one) },
				func(x float64) float64 { y, _ := siluOf(x); return y }, absolute, 1.5e-7,
			},
			{"sigmoidTile", func() { copy(y, x); v.SigmoidTile(y, nil, []float32{0}, len(x), 0) },
				func(x float64) float64 { y, _ := logisticOf(x); return y }, absolute, 1.5e-7},
			{"sigmoidTile, relative", func() { copy(y, x); v.SigmoidTile(y, nil, []float32{0}, len(x), 0) },
				func(x float64) float64 { y, _ := logisticOf(x); return y }, above80, 5e-7},
			{"sigmoidTileBackward", func() {
				copy(other, x)
				copy(y, one)
				v.SigmoidTileBackward(y, other, nil, []float32{0}, len(x), 0)
			},
				func(x float64) float64 { _, d := logisticOf(x); return d }, absolute, 1e-7},
			{"softcap", func() { copy(y, x); v.Softcap(y, nil, 1) }, math.Tanh, relative, 6 * u},
			{"softcap, slope", func() { copy(other, x); v.Softcap(other, y, 1) },
				func(x float64) float64 { return 1 - math.Tanh(x)*math.Tanh(x) }, absolute, 7e-7},
		} {
			c.f()
			if wants[c.name] == nil {
				for _, x := range x {
					wants[c.name] = append(wants[c.name], c.want(float64(x)))
				}
			}
			worst, at := 0.0, float32(0)
			for i, x := range x {
				want := wants[c.name][i]
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
				[]float32{0, inf, -inf, 1e38, -1e38, nan, -104, 89, 1e-45},
				[]float32{1, inf, 0, inf, 0, nan, 0, inf, 1}},
			{
				"exp, shifted", func(y, x []float32) { v.Exp(y, x, inf, 1) }, []float32{inf, 1, nan},
				[]float32{nan, 0, nan},
			},
			{"relu", v.Relu, []float32{inf, -inf, nan, 1e-45, -1e-45}, []float32{inf, 0, nan, 1e-45, 0}},
			{
				"relu2", v.Relu2, []float32{inf, -inf, nan, 3, -3, 0x1p-63, 0x1p-64, 1e20},
				[]float32{inf, 0, nan, 9, 0, 0x1p-126, 0, inf},
			},
			{"relu2Backward", func(y, x []float32) { v.Relu2Backward(y, x, []float32{1, 2, 3, 4, 5, 0x1p-64, inf, 6}) },
				[]float32{inf, -inf, nan, 3, -3, 3e38, 2, 0x1p-64},
				[]float32{inf, 0, nan, 24, 0, 3e38 * 0x1p-63, inf, 0}},
			{"mul", func(y, x []float32) { v.Mul(y, x, []float32{2, -3, nan, 5}) },
				[]float32{inf, inf, 0, 1.5}, []float32{inf, -inf, nan, 7.5}},
			{"gelu", v.Gelu, []float32{0, inf, -inf, nan, 1e38, -1e38}, []float32{0, inf, 0, nan, 1e38, 0}},
			{"geluTanh", v.GeluTanh, []float32{0, inf, -inf, nan, 1e38, -1e38}, []float32{0, inf, 0, nan, 1e38, 0}},
			{
				"sigmoid", v.Sigmoid, []float32{0, inf, -inf, nan, 1e38, -1e38, -1000},
				[]float32{0.5, 1, 0, nan, 1, 0, 0},
			},
			{"sigmoidBackward", func(y, x []float32) { v.SigmoidBackward(y, x, ones[float32](len(x))) },
				[]float32{0, inf, -inf, nan, 1e38, -1e38, -1000}, []float32{0.25, 0, 0, nan, 0, 0, 0}},
			{"sigmoidTile", func(y, x []float32) { copy(y, x); v.SigmoidTile(y, nil, []float32{2}, len(x), 0) },
				[]float32{2, inf, -inf, nan, 1e38, -1e38, -1000}, []float32{0.5, 1, 0, nan, 1, 0, 0}},
			{"sigmoidTile, hidden", func(y, x []float32) {
				copy(y, x)
				v.SigmoidTile(y, slices.Repeat([]float32{-inf}, len(x)), []float32{2}, len(x), len(x))
			}, []float32{2, inf, -inf, nan}, []float32{0, 0, 0, 0}},
			{"sigmoidTileBackward", func(y, x []float32) {
				copy(y, ones[float32](len(x)))
				v.SigmoidTileBackward(y, slices.Clone(x), nil, []float32{2}, len(x), 0)
			}, []float32{2, inf, -inf, nan, 1e38, -1e38, -1000}, []float32{0.25, 0, 0, nan, 0, 0, 0}},
			{"silu", v.Silu, []float32{0, inf, -inf, nan, 1e38, -1e38, -1000}, []float32{0, inf, 0, nan, 1e38, 0, 0}},
			{"softplus", v.Softplus, []float32{inf, -inf, nan, 1e38, -1e38, -1000}, []float32{inf, 0, nan, 1e38, 0, 0}},
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
			{"softcap", func(y, x []float32) { copy(y, x); v.Softcap(y, nil, 30) },
				[]float32{0, inf, -inf, nan, 1e38, -1e38, 1e-45, 1e-30}, []float32{0, 30, -30, nan, 30, -30, 0, 0}},
			{"softcap, slope", func(y, x []float32) { v.Softcap(slices.Clone(x), y, 30) },
				[]float32{0, inf, -inf, nan, 1e38, -1e38, 1e-45}, []float32{1, 0, 0, nan, 0, 0, 1}},
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

func widened(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

const u = 0x1p-24 // half of the last place of 1

// TestVectorRowsAreAccurate compares kernels of rows and sums with the same in float64.
func TestVectorRowsAreAccurate(t *testing.T) {
	const rows = 5
	kerneltest.EachSet(t, func(t *testing.T, v *simd.Set) {
		worst := map[string]float64{} // error divided by the stated one: at most 1
		compare := func(name string, n int, got []float32, want []float64, allowed func(i int) float64) {
			for i, w := range want {
				e := math.Abs(float64(got[i])-w) / allowed(i)
				if !(e <= worst[name]) {
					worst[name] = e
				}
				if !(e <= 1) {
					t.Errorf("%s, %d columns, entry %d: got %v, want %v ± %.2g", name, n, i, got[i], w, allowed(i))
					return
				}
			}
		}
		for _, n := range lengths() {
			if n == 0 {
				continue
			}
			rng := rand.New(rand.NewPCG(uint64(n), 12))
			blocks := float64((n + 15) / 16)

			x, mask := kerneltest.Random[float32](rng, rows*n), make([]float32, rows*n)
			for i := range x {
				x[i] *= 5
				if rng.IntN(4) == 0 || i%n > i/n*n/rows {
					mask[i] = float32(math.Inf(-1))
				}
			}
			p, want, wideMask := append([]float32(nil), x...), widened(x), widened(mask)
			v.Softmax(p, mask, n, rows)
			largest := make([]float64, rows)
			for i := 0; i < len(x); i += n {
				Softmax(want[i:i+n], wideMask[i:i+n])
				largest[i/n] = slices.Max(want[i : i+n])
			}
			compare("softmax", n, p, want, func(i int) float64 {
				if want[i] == 0 {
					return 0x1p-148
				}
				distance := math.Log(largest[i/n] / want[i]) // from the largest score
				if distance > 60 {
					return want[i]
				}
				return (5 + distance + blocks/8) * u * want[i]
			})
			for i, m := range mask {
				if m != 0 && math.Float32bits(p[i]) != 0 {
					t.Fatalf("softmax, %d columns, entry %d: %v for a hidden key", n, i, p[i])
				}
			}

			top, total := v.ExpSum(x[:n])
			if top != slices.Max(x[:n]) {
				t.Errorf("expSum, length %d: the largest is %v, want %v", n, top, slices.Max(x[:n]))
			}
			sum := 0.0
			for _, v := range x[:n] {
				sum += math.Exp(float64(v - top))
			}
			compare("expSum", n, []float32{float32(total / sum)}, []float64{1}, func(int) float64 { return 4 * u })

			for i := range x { // far from 0, compared with the distances
				x[i] = x[i]/5 + 10
			}
			y, w, b := make([]float32, rows*n), kerneltest.Random[float32](rng, n), kerneltest.Random[float32](rng, n)
			mean, inv := make([]float32, rows), make([]float32, rows)
			v.LayerNorm(y, x, w, b, mean, inv, 1/float32(n), 1e-5)
			wideY, wideMean, wideInv := make([]float64, rows*n), make([]float64, rows), make([]float64, rows)
			LayerNorm(NewPool(1), wideY, Norm[float64]{widened(x), widened(w), widened(b), wideMean, wideInv, 1e-5})
			compare("mean", n, mean, wideMean, func(i int) float64 { return 2 * u * math.Abs(wideMean[i]) })
			if n > 1 { // of one entry the variance is 0, and its rounding errors count
				compare("1/σ", n, inv, wideInv, func(i int) float64 { return (4 + blocks) * u * wideInv[i] })
			}
			compare("layerNorm", n, y, wideY, func(i int) float64 {
				j, hat := i%n, math.Abs(float64(x[i])-wideMean[i/n])*wideInv[i/n]
				return (8 + blocks) * u * (math.Abs(float64(w[j]))*(hat+10*wideInv[i/n]) + math.Abs(float64(b[j])))
			})

			dx, dw := make([]float32, rows*n), make([]float32, n)
			db, dy := make([]float32, n), kerneltest.Random[float32](rng, rows*n)
			v.LayerNormBackward(dx, dw, db, x, w, dy, mean, inv, 1/float32(n))
			wideDX, wideDW, wideDB := make([]float64, rows*n), make([]float64, n), make([]float64, n)
			LayerNormBackward(
				NewPool(1), Norm[float64]{X: widened(x), W: widened(w), Mean: widened(mean), Spread: widened(inv)},
				widened(dy), NormGrads[float64]{wideDX, wideDW, wideDB, make([]float64, 2*Parts*len(w))},
			)
			hat := func(i int) float64 { return math.Abs(float64((x[i] - mean[i/n]) * inv[i/n])) }
			g, hats, size := make([]float64, rows), make([]float64, rows), make([]float64, n) // sums of absolute values
			for i := range x {
				v := math.Abs(float64(dy[i]*w[i%n])) / float64(n)
				g[i/n] += v
				hats[i/n] += v * hat(i)
				size[i%n] += math.Abs(float64(dy[i])) * (1 + hat(i))
			}
			compare("dx", n, dx, wideDX, func(i int) float64 {
				return (6 + blocks) * u * float64(inv[i/n]) * (math.Abs(float64(dy[i]*w[i%n])) + g[i/n] +
					hats[i/n]*hat(i))
			})
			compare("dw", n, dw, wideDW, func(i int) float64 { return (3 + rows) * u * size[i] })
			compare("db", n, db, wideDB, func(i int) float64 { return rows * u * size[i] })

			v.RmsNorm(y, x, w, inv, 1/float32(n), 1e-5)
			rms := Norm[float64]{X: widened(x), W: widened(w), Spread: wideInv, Eps: 1e-5}
			RMSNorm(NewPool(1), wideY, rms)
			compare("1/rms", n, inv, wideInv, func(i int) float64 { return (4 + blocks) * u * wideInv[i] })
			compare("rmsNorm", n, y, wideY, func(i int) float64 { return (7 + blocks) * u * math.Abs(wideY[i]) })
			clear(dw)
			clear(wideDW)
			v.RmsNormBackward(dx, dw, x, w, dy, inv, 1/float32(n))
			rms.Spread = widened(inv)
			RMSNormBackward(
				NewPool(1), rms, widened(dy),
				NormGrads[float64]{X: wideDX, W: wideDW, Scratch: make([]float64, 2*Parts*len(w))},
			)
			hat = func(i int) float64 { return math.Abs(float64(x[i] * inv[i/n])) }
			clear(hats)
			clear(size)
			for i := range x {
				hats[i/n] += math.Abs(float64(dy[i]*w[i%n])) / float64(n) * hat(i)
				size[i%n] += math.Abs(float64(dy[i])) * hat(i)
			}
			compare("dx of rms", n, dx, wideDX, func(i int) float64 {
				return (6 + blocks) * u * float64(inv[i/n]) * (math.Abs(float64(dy[i]*w[i%n])) + hats[i/n]*hat(i))
			})
			compare("dw of rms", n, dw, wideDW, func(i int) float64 { return (3 + rows) * u * size[i] })

			squares := 0.0
			for _, v := range x {
				squares += float64(v) * float64(v)
			}
			compare(
				"sumSquares", n, []float32{float32(v.SumSquares(x)/squares - 1)}, []float64{0},
				func(int) float64 { return 1e-12 },
			)
		}
		t.Logf("errors over what is allowed: %.2v", worst)
	})
}

// TestVectorLayerNormFarFromZero: the error of a first mean must not reach the variance.
func TestVectorLayerNormFarFromZero(t *testing.T) {
	const d = 4099
	x := kerneltest.Random[float32](rand.New(rand.NewPCG(15, 15)), d)
	for i := range x {
		x[i] += 3e4
	}
	kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) {
		y, mean, inv := make([]float32, d), make([]float32, 1), make([]float32, 1)
		LayerNorm(NewPool(1), y, Norm[float32]{x, ones[float32](d), nil, mean, inv, 1e-5})
		wantY, wantMean, wantInv := make([]float64, d), make([]float64, 1), make([]float64, 1)
		LayerNorm(NewPool(1), wantY, Norm[float64]{widened(x), ones[float64](d), nil, wantMean, wantInv, 1e-5})
		if !(math.Abs(float64(inv[0])/wantInv[0]-1) <= 40*u) || !(math.Abs(float64(mean[0])/wantMean[0]-1) <= u) {
			t.Errorf("mean %v, 1/σ %v, want %v, %v", mean, inv, wantMean, wantInv)
		}
		for i, want := range wantY {
			if !(math.Abs(float64(y[i])-want) <= 3e4*u+40*u*math.Abs(want)) {
				t.Fatalf("entry %d: got %v, want %v", i, y[i], want)
			}
		}
	})
}

// TestSoftmaxSkipsWhatIsMasked: hidden scores have no effect, even NaN; a row without other entries is 0.
func TestSoftmaxSkipsWhatIsMasked(t *testing.T) {
	nan, inf, off := float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))
	check := func(t *testing.T) {
		const cols = 40
		x, mask := make([]float32, 3*cols), make([]float32, 3*cols)
		for i := range x {
			if j := i % cols; i >= 2*cols || j == 3 || j > 25 {
				x[i], mask[i] = []float32{nan, inf, 3e38}[i%3], off
			}
		}
		for i := 0; i < len(x); i += cols {
			Softmax(x[i:i+cols], mask[i:i+cols])
		}
		for i, got := range x {
			if want := 1. / 25; mask[i] == off && math.Float32bits(got) != 0 || mask[i] == 0 &&
				!(math.Abs(float64(got)-want) <= 2*u*want) {
				t.Fatalf("row %d, column %d: got %v", i/cols, i%cols, got)
			}
		}
	}
	kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) {
		check(t)
		defer simd.Use(nil)()
		check(t)
	})
}
