package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// everywhere is float32 numbers of all sizes, and more where the functions bend.
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

// TestVectorFunctionsAreAccurate: as their descriptions say.
func TestVectorFunctionsAreAccurate(t *testing.T) {
	x := everywhere()
	y, one := make([]float32, len(x)), ones[float32](len(x))
	absolute := func(got float32, want float64) float64 { return math.Abs(float64(got)-want) / max(1, math.Abs(want)) }
	eachSet(t, func(t *testing.T, v *vectors) {
		for _, c := range []struct {
			name  string
			f     func()
			want  func(x float64) float64
			err   func(got float32, want float64) float64
			limit float64
		}{
			{"exp", func() { v.exp(y, x, 0, 1) }, math.Exp, ulps, 0.9},
			{"gelu", func() { v.gelu(y, x) }, func(x float64) float64 { y, _ := gelu(x); return y }, ulps, 6},
			{"geluBackward", func() { v.geluBackward(y, x, one) }, func(x float64) float64 { _, d := gelu(x); return d }, absolute, 2e-7},
			{"geluTanh", func() { v.geluTanh(y, x) }, func(x float64) float64 { y, _ := geluTanh(x); return y }, absolute, 1.5e-7},
			{"geluTanhBackward", func() { v.geluTanhBackward(y, x, one) }, func(x float64) float64 { _, d := geluTanh(x); return d }, absolute, 2e-7},
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
				if float64(y[i]) == want {
					continue
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

// TestVectorFunctionsAtTheEnds compares with plain Go what is no ordinary number, and asserts the limits.
func TestVectorFunctionsAtTheEnds(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	eachSet(t, func(t *testing.T, v *vectors) {
		for _, c := range []struct {
			name string
			f    func(y, x []float32)
			x, y []float32
		}{
			{"exp", func(y, x []float32) { v.exp(y, x, 0, 1) },
				[]float32{0, inf, -inf, 1e38, -1e38, nan, -104, 89, 1e-45}, []float32{1, inf, 0, inf, 0, nan, 0, inf, 1}},
			{"exp, shifted", func(y, x []float32) { v.exp(y, x, inf, 1) }, []float32{inf, 1, nan}, []float32{nan, 0, nan}},
			{"relu", v.relu, []float32{inf, -inf, nan, 1e-45, -1e-45}, []float32{inf, 0, nan, 1e-45, 0}},
			{"gelu", v.gelu, []float32{0, inf, -inf, nan, 1e38, -1e38}, []float32{0, inf, 0, nan, 1e38, 0}},
			{"geluTanh", v.geluTanh, []float32{0, inf, -inf, nan, 1e38, -1e38}, []float32{0, inf, 0, nan, 1e38, 0}},
			{"geluBackward", func(y, x []float32) { v.geluBackward(y, x, ones[float32](len(x))) },
				[]float32{inf, -inf, nan, 1e38, -1e38}, []float32{1, 0, nan, 1, 0}},
			{"geluTanhBackward", func(y, x []float32) { v.geluTanhBackward(y, x, ones[float32](len(x))) },
				[]float32{inf, -inf, nan, 1e38, -1e38}, []float32{1, 0, nan, 1, 0}},
			{"reluBackward", func(y, x []float32) { v.reluBackward(y, x, []float32{1, 2, 3, nan, inf, 6}) },
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

// TestPlainActivationsHaveTheSameLimits as the vectors.
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
	eachSet(t, func(t *testing.T, v *vectors) {
		worst := map[string]float64{} // error over what is stated: at most 1
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

			x, mask := random[float32](rng, rows*n), make([]float32, rows*n)
			for i := range x {
				x[i] *= 5
				if rng.IntN(4) == 0 || i%n > i/n*n/rows {
					mask[i] = float32(math.Inf(-1))
				}
			}
			p, want, wideMask := append([]float32(nil), x...), widened(x), widened(mask)
			v.softmax(p, mask, n, rows)
			largest := make([]float64, rows)
			for i := 0; i < len(x); i += n {
				softmax(want[i:i+n], wideMask[i:i+n])
				largest[i/n] = slices.Max(want[i : i+n])
			}
			compare("softmax", n, p, want, func(i int) float64 {
				if want[i] == 0 {
					return 0x1p-148
				}
				distance := math.Log(largest[i/n] / want[i]) // of the score from the largest
				return (5+distance+blocks/8)*u*want[i] + 0x1p-148
			})
			for i, m := range mask {
				if m != 0 && math.Float32bits(p[i]) != 0 {
					t.Fatalf("softmax, %d columns, entry %d: %v behind the mask", n, i, p[i])
				}
			}

			d := random[float32](rng, rows*n)
			ds := append([]float32(nil), d...)
			v.softmaxBackward(ds, p, n, rows, 0.3)
			wide := widened(d)
			softmaxBackward(wide, widened(p), n, 0.3)
			clear(largest)
			for i, v := range d {
				largest[i/n] = max(largest[i/n], math.Abs(float64(v)))
			}
			compare("softmaxBackward", n, ds, wide, func(i int) float64 {
				return (5+blocks)*u*largest[i/n]*float64(p[i])*0.3 + 0x1p-140
			})

			top, total := v.expSum(x[:n])
			sum := 0.0
			for _, v := range x[:n] {
				sum += math.Exp(float64(v - top))
			}
			compare("expSum", n, []float32{float32(total / sum)}, []float64{1}, func(int) float64 { return 4 * u })

			for i := range x { // far from 0, compared with the distances
				x[i] = x[i]/5 + 10
			}
			y, w, b := make([]float32, rows*n), random[float32](rng, n), random[float32](rng, n)
			mean, inv := make([]float32, rows), make([]float32, rows)
			v.layerNorm(y, x, w, b, mean, inv, 1/float32(n), 1e-5)
			wideY, wideMean, wideInv := make([]float64, rows*n), make([]float64, rows), make([]float64, rows)
			LayerNorm(NewPool(1), wideY, widened(x), widened(w), widened(b), wideMean, wideInv, 1e-5)
			compare("mean", n, mean, wideMean, func(i int) float64 { return 2 * u * math.Abs(wideMean[i]) })
			if n > 1 { // of one entry the variance is 0, and its rounding errors count
				compare("1/σ", n, inv, wideInv, func(i int) float64 { return (4 + blocks) * u * wideInv[i] })
			}
			compare("layerNorm", n, y, wideY, func(i int) float64 {
				j, hat := i%n, math.Abs(float64(x[i])-wideMean[i/n])*wideInv[i/n]
				return (8+blocks)*u*(math.Abs(float64(w[j]))*(hat+10*wideInv[i/n])+math.Abs(float64(b[j])))
			})

			dx, dw, db, dy := make([]float32, rows*n), make([]float32, n), make([]float32, n), random[float32](rng, rows*n)
			v.layerNormBackward(dx, dw, db, x, w, dy, mean, inv, 1/float32(n))
			wideDX, wideDW, wideDB := make([]float64, rows*n), make([]float64, n), make([]float64, n)
			LayerNormBackward(NewPool(1), wideDX, wideDW, wideDB, widened(x), widened(w), widened(dy), widened(mean), widened(inv))
			hat := func(i int) float64 { return math.Abs(float64((x[i] - mean[i/n]) * inv[i/n])) }
			g, hats, size := make([]float64, rows), make([]float64, rows), make([]float64, n) // sums of absolute values
			for i := range x {
				v := math.Abs(float64(dy[i]*w[i%n])) / float64(n)
				g[i/n] += v
				hats[i/n] += v * hat(i)
				size[i%n] += math.Abs(float64(dy[i])) * (1 + hat(i))
			}
			compare("dx", n, dx, wideDX, func(i int) float64 {
				return (6 + blocks) * u * float64(inv[i/n]) * (math.Abs(float64(dy[i]*w[i%n])) + g[i/n] + hats[i/n]*hat(i))
			})
			compare("dw", n, dw, wideDW, func(i int) float64 { return (3 + rows) * u * size[i] })
			compare("db", n, db, wideDB, func(i int) float64 { return rows * u * size[i] })

			squares := 0.0
			for _, v := range x {
				squares += float64(v) * float64(v)
			}
			compare("sumSquares", n, []float32{float32(v.sumSquares(x)/squares - 1)}, []float64{0}, func(int) float64 { return 1e-12 })
		}
		t.Logf("errors over what is allowed: %.2v", worst)
	})
}

// TestVectorsEqualPlainGo: where every operation is rounded once, and the same, or there is none.
func TestVectorsEqualPlainGo(t *testing.T) {
	const n, d = 3*grain + 77, 7
	rng := rand.New(rand.NewPCG(13, 13))
	x, y := wild(rng, n*d), wild(rng, n*d)
	p := NewPool(1)
	ids := make([]int, n)
	for i := range ids {
		ids[i] = rng.IntN(n)
	}
	run := func() map[string][]float64 {
		results := map[string][]float64{}
		for name, f := range map[string]func(z []float32){
			"add":          func(z []float32) { Add(p, z, x, y) },
			"relu":         func(z []float32) { ReLU(p, z, x) },
			"reluBackward": func(z []float32) { ReLUBackward(p, z, x, y) },
			"sumRows":      func(z []float32) { SumRows(p, z[:d], x); SumRows(p, z[d:d+n], x) },
			"dropout":      func(z []float32) { Dropout(p, z, x, Dropping{P: 0.3, Key: 3, Step: 5}) },
			"dropout 0":    func(z []float32) { Dropout(p, z, x, Dropping{}) },
			"dropout 1":    func(z []float32) { Dropout(p, z, x, Dropping{P: 1}) },
			"scatter":      func(z []float32) { ScatterAdd(z, y, ids, d) },
		} {
			z := make([]float32, n*d)
			f(z)
			results[name] = widened(z)
		}
		return results
	}
	eachSet(t, func(t *testing.T, v *vectors) {
		got := run()
		vector = nil
		sameResults(t, n, got, run())
	})
}

// TestVectorAdamWFollowsFloat64, step by step from the same state.
func TestVectorAdamWFollowsFloat64(t *testing.T) {
	const n = 1003
	o := AdamW{LR: 1e-3, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, Decay: 0.1}
	eachSet(t, func(t *testing.T, _ *vectors) {
		rng := rand.New(rand.NewPCG(14, 14))
		w, m, second := random[float32](rng, n), make([]float32, n), make([]float32, n)
		for step := 1; step < 20; step++ {
			g := random[float32](rng, n)
			wantW, wantM, wantV := widened(w), widened(m), widened(second)
			Update(NewPool(1), o, step, 0.7, wantW, widened(g), wantM, wantV)
			Update(NewPool(1), o, step, 0.7, w, g, m, second)
			for i := range w {
				for _, c := range []struct {
					name      string
					got       float32
					want, off float64
				}{
					{"w", w[i], wantW[i], 2 * u * (math.Abs(wantW[i]) + 10*o.LR)},
					{"m", m[i], wantM[i], 4 * u * (math.Abs(wantM[i]) + math.Abs(float64(g[i])))},
					{"v", second[i], wantV[i], 30 * u * wantV[i]}, // 1 − β₂ is taken of a rounded β₂
				} {
					if !(math.Abs(float64(c.got)-c.want) <= c.off) {
						t.Fatalf("step %d, %s[%d]: got %v, want %v ± %.2g", step, c.name, i, c.got, c.want, c.off)
					}
				}
			}
		}
	})
}
