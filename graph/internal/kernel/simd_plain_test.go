package kernel

import (
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// TestVectorsEqualPlainGo for kernels in which every operation, if any, is rounded once and in the same way.
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
			"bfloat16":     func(z []float32) { Bfloat16(z, x) },
			"reluBackward": func(z []float32) { ReLUBackward(p, z, x, y) },
			"sumRows": func(z []float32) {
				SumRows(p, z[:d], x, make([]float32, Parts*d))
				SumRows(p, z[d:d+n], x, make([]float32, Parts*n))
			},
			"dropout":   func(z []float32) { Dropout(p, z, x, DropMask{P: 0.3, Key: 3, Step: 5}) },
			"dropout 0": func(z []float32) { Dropout(p, z, x, DropMask{}) },
			"dropout 1": func(z []float32) { Dropout(p, z, x, DropMask{P: 1}) },
			"scatter":   func(z []float32) { ScatterAdd(p, z, y, ids, d) },
		} {
			z := make([]float32, n*d)
			f(z)
			results[name] = widened(z)
		}
		return results
	}
	kerneltest.EachSet(t, func(t *testing.T, v *simd.Set) {
		got := run()
		defer simd.Use(nil)()
		sameResults(t, n, got, run())
	})
}

// TestVectorAdamWFollowsFloat64, step by step from the same state.
func TestVectorAdamWFollowsFloat64(t *testing.T) {
	const n = 1003
	o := AdamW{LR: 1e-3, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, Decay: 0.1}
	kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) {
		rng := rand.New(rand.NewPCG(14, 14))
		w, m, second := kerneltest.Random[float32](rng, n), make([]float32, n), make([]float32, n)
		for step := 1; step < 20; step++ {
			g := kerneltest.Random[float32](rng, n)
			wantW, wantM, wantV := widened(w), widened(m), widened(second)
			Update(o, step, 0.7, wantW, widened(g), wantM, wantV)
			Update(o, step, 0.7, w, g, m, second)
			for i := range w {
				for _, c := range []struct {
					name      string
					got       float32
					want, off float64
				}{
					{"w", w[i], wantW[i], 2 * u * (math.Abs(wantW[i]) + 10*o.LR)},
					{"m", m[i], wantM[i], 4 * u * (math.Abs(wantM[i]) + math.Abs(float64(g[i])))},
					{"v", second[i], wantV[i], 30 * u * wantV[i]}, // 1 − β₂ is computed from a rounded β₂
				} {
					if !(math.Abs(float64(c.got)-c.want) <= c.off) {
						t.Fatalf("step %d, %s[%d]: got %v, want %v ± %.2g", step, c.name, i, c.got, c.want, c.off)
					}
				}
			}
		}
	})
}

// The norm of σ + ε in vectors equals float64's, forward and backward, also far from 0 and if σ is as small as ε.
func TestVectorLayerNormSigma(t *testing.T) {
	const rows = 5
	rng := rand.New(rand.NewPCG(21, 21))
	kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) {
		for _, n := range []int{2, 3, 15, 16, 17, 31, 64, 197, 4099} {
			for _, eps := range []float64{1e-5, 0.3} {
				x, w, b := kerneltest.Random[float32](rng, rows*
					n), kerneltest.Random[float32](rng, n), kerneltest.Random[float32](rng, n)
				for i := range x {
					x[i] = x[i]/5 + 10
				}
				blocks := float64(n)/16 + 3
				dy := kerneltest.Random[float32](rng, rows*n)
				norm, grads := Norm[float32]{x, w, b, make([]float32, rows), make([]float32, rows), eps},
					NormGrads[float32]{
						make([]float32, rows*n), make([]float32, n), make([]float32, n), make([]float32, 2*Parts*n),
					}
				wide, wideGrads := Norm[float64]{
					widened(x), widened(w), widened(b), make([]float64, rows), make([]float64, rows), eps,
				},
					NormGrads[float64]{
						make([]float64, rows*n), make([]float64, n), make([]float64, n), make([]float64, 2*Parts*n),
					}
				y, wideY := make([]float32, rows*n), make([]float64, rows*n)
				compare := func(what string, got []float32, want []float64, allowed func(i int) float64) {
					t.Helper()
					for i := range got {
						if !(math.Abs(float64(got[i])-want[i]) <= allowed(i)) {
							t.Fatalf(
								"%s, %d columns, ε %v, entry %d: got %v, want %v within %v", what, n, eps, i, got[i],
								want[i], allowed(i),
							)
						}
					}
				}
				LayerNormSigma(NewPool(1), y, norm)
				LayerNormSigma(NewPool(1), wideY, wide)
				compare("mean", norm.Mean, wide.Mean, func(i int) float64 { return 2 * u * math.Abs(wide.Mean[i]) })
				compare(
					"σ", norm.Spread, wide.Spread,
					func(i int) float64 { return (6 + blocks) * u * (wide.Spread[i] + 1e-3) },
				)
				compare("y", y, wideY, func(i int) float64 {
					j, inv := i%n, 1/(wide.Spread[i/n]+eps)
					return (8 + blocks) * u * (math.Abs(wide.W[j])*(math.Abs(wide.X[i]-wide.Mean[i/n])+10)*inv*(1+
						1e-3*inv) + math.Abs(wide.B[j]))
				})
				LayerNormSigmaBackward(NewPool(1), norm, dy, grads)
				wide.Mean, wide.Spread = widened(norm.Mean), widened(norm.Spread)
				LayerNormSigmaBackward(NewPool(1), wide, widened(dy), wideGrads)
				hat := func(i int) float64 { return math.Abs(wide.X[i]-wide.Mean[i/n]) / (wide.Spread[i/n] + eps) }
				// sums of absolute values
				g, hats, size := make([]float64, rows), make([]float64, rows), make([]float64, n)
				for i := range x {
					v := math.Abs(float64(dy[i]*w[i%n])) / float64(n)
					g[i/n] += v
					hats[i/n] += v * hat(i)
					size[i%n] += math.Abs(float64(dy[i])) * (1 + hat(i))
				}
				compare("dx", grads.X, wideGrads.X, func(i int) float64 {
					sigma := wide.Spread[i/n]
					return (10 + blocks) * u / (sigma + eps) * (math.Abs(float64(dy[i]*w[i%n])) + g[i/n] +
						hats[i/n]*hat(i)*(sigma+eps)/sigma)
				})
				compare("dw", grads.W, wideGrads.W, func(i int) float64 { return (4 + rows) * u * size[i] })
				compare("db", grads.B, wideGrads.B, func(i int) float64 { return rows * u * size[i] })
			}
		}
	})
}

// A row of equal numbers has σ = 0 exactly: the result is the shift, without a gradient.
func TestVectorsOfEqualNumbers(t *testing.T) {
	check := func(t *testing.T) {
		for _, n := range []int{1, 3, 5, 7, 11, 13, 16, 23, 37, 41, 100, 768, 1000, 4099} {
			values := append(kerneltest.Random[float32](rand.New(rand.NewPCG(3, 4)), 30), 0, 0.1, -1.7, 3e4, 1.1e-20)
			for _, v := range values {
				x, w, b, y := make([]float32, n), ones[float32](n), kerneltest.Random[float32](
					rand.New(rand.NewPCG(1, 2)), n,
				), make([]float32, n)
				for i := range x {
					x[i] = v
				}
				norm := Norm[float32]{x, w, b, make([]float32, 1), make([]float32, 1), 1e-3}
				if LayerNormSigma(NewPool(1), y, norm); norm.Mean[0] != v || norm.Spread[0] != 0 ||
					!kerneltest.SameBits(y, b) {
					t.Errorf("%d times %v: μ %v, σ %v", n, v, norm.Mean[0], norm.Spread[0])
				}
				grads := NormGrads[float32]{X: y, Scratch: make([]float32, 2*Parts*n)}
				if LayerNormSigmaBackward(NewPool(1), norm, b, grads); y[0] == y[0] {
					t.Errorf("%d times %v: the gradient is %v, want NaN", n, v, y[0])
				}
			}
		}
	}
	t.Run("Go", func(t *testing.T) { defer simd.Use(nil)(); check(t) })
	kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) { check(t) })
}

// TestGODEBUGChoosesTheInstructionSet runs the tests of this package again in processes with some instruction sets of
// the processor switched off.
func TestGODEBUGChoosesTheInstructionSet(t *testing.T) {
	if want, child := os.LookupEnv("KERNEL_TEST_SET"); child {
		if got := simd.Of[float32]().String(); got != want {
			t.Fatalf("kernels for %s, want %s", got, want)
		}
		return
	}
	sets := simd.Sets()
	if sets["AVX2"] == nil {
		t.Skip("this processor has no vector kernels to switch off")
	}
	if testing.Short() {
		t.Skip("with -short: restarts this program several times with fewer instructions")
	}
	const all = "GODEBUGChooses|GELU|Exp|LayerNorm|CrossEntropy|AdamW|" +
		"SumSquares|SumRows|Scatter|Dropout|ReLU|Reductions|NaN|VectorRows"
	for godebug, run := range map[string][2]string{ // the set, and the tests
		"cpu.avx512f=off":              {"AVX2", all},
		"cpu.avx512dq=off":             {"AVX2", "GODEBUGChooses"},
		"cpu.avx512f=off,cpu.avx2=off": {"Go", all},
		"cpu.avx512f=off,cpu.fma=off":  {"Go", "GODEBUGChooses"},
	} {
		want := run[0]
		c := exec.Command(os.Args[0], "-test.run="+run[1])
		c.Env = append(os.Environ(), "GODEBUG="+godebug, "KERNEL_TEST_SET="+want)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("GODEBUG=%s: %v\n%s", godebug, err, out)
		}
	}
}

// TestBfloat16EveryUpperHalf: vectors round every upper half of a number's bits, with the lower halves at which the
// rounding changes, to the bits of plain Go, at every place in a vector and also in place.
func TestBfloat16EveryUpperHalf(t *testing.T) {
	lower := []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, rand.Uint32() & 0xffff}
	for name, set := range simd.Sets() {
		x, y := make([]float32, len(lower)*(1<<8)+3), make([]float32, len(lower)*(1<<8)+3)
		for upper := uint32(0); upper < 1<<16; upper += 1 << 8 {
			for i := range x {
				x[i] = math.Float32frombits((upper+uint32(i/len(lower)))<<16 | lower[i%len(lower)])
			}
			set.Bfloat16(y, x)
			for i, v := range x {
				got, want := math.Float32bits(y[i]), math.Float32bits(RoundBfloat16(v))
				if got != want {
					t.Fatalf("%s: %#08x: got %#08x, want %#08x", name, math.Float32bits(v), got, want)
				}
			}
			set.Bfloat16(x, x)
			for i := range x {
				if math.Float32bits(x[i]) != math.Float32bits(y[i]) {
					t.Fatalf("%s: entry %d: other bits in place", name, i)
				}
			}
		}
	}
}
