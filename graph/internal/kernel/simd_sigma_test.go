package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// The norm of σ + ε in vectors is that of float64, forward and backward, also far from 0 and if σ is as small as ε.
func TestVectorLayerNormSigma(t *testing.T) {
	const rows = 5
	rng := rand.New(rand.NewPCG(21, 21))
	kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) {
		for _, n := range []int{2, 3, 15, 16, 17, 31, 64, 197, 4099} {
			for _, eps := range []float64{1e-5, 0.3} {
				x, w, b := kerneltest.Random[float32](rng, rows*n), kerneltest.Random[float32](rng, n), kerneltest.Random[float32](rng, n)
				for i := range x {
					x[i] = x[i]/5 + 10
				}
				blocks := float64(n)/16 + 3
				dy := kerneltest.Random[float32](rng, rows*n)
				norm, grads := Norm[float32]{x, w, b, make([]float32, rows), make([]float32, rows), eps},
					NormGrads[float32]{make([]float32, rows*n), make([]float32, n), make([]float32, n), make([]float32, 2*Parts*n)}
				wide, wideGrads := Norm[float64]{widened(x), widened(w), widened(b), make([]float64, rows), make([]float64, rows), eps},
					NormGrads[float64]{make([]float64, rows*n), make([]float64, n), make([]float64, n), make([]float64, 2*Parts*n)}
				y, wideY := make([]float32, rows*n), make([]float64, rows*n)
				compare := func(what string, got []float32, want []float64, allowed func(i int) float64) {
					t.Helper()
					for i := range got {
						if !(math.Abs(float64(got[i])-want[i]) <= allowed(i)) {
							t.Fatalf("%s, %d columns, ε %v, entry %d: got %v, want %v within %v", what, n, eps, i, got[i], want[i], allowed(i))
						}
					}
				}
				LayerNormSigma(NewPool(1), y, norm)
				LayerNormSigma(NewPool(1), wideY, wide)
				compare("mean", norm.Mean, wide.Mean, func(i int) float64 { return 2 * u * math.Abs(wide.Mean[i]) })
				compare("σ", norm.Spread, wide.Spread, func(i int) float64 { return (6 + blocks) * u * (wide.Spread[i] + 1e-3) })
				compare("y", y, wideY, func(i int) float64 {
					j, inv := i%n, 1/(wide.Spread[i/n]+eps)
					return (8 + blocks) * u * (math.Abs(wide.W[j])*(math.Abs(wide.X[i]-wide.Mean[i/n])+10)*inv*(1+1e-3*inv) + math.Abs(wide.B[j]))
				})
				LayerNormSigmaBackward(NewPool(1), norm, dy, grads)
				wide.Mean, wide.Spread = widened(norm.Mean), widened(norm.Spread)
				LayerNormSigmaBackward(NewPool(1), wide, widened(dy), wideGrads)
				hat := func(i int) float64 { return math.Abs(wide.X[i]-wide.Mean[i/n]) / (wide.Spread[i/n] + eps) }
				g, hats, size := make([]float64, rows), make([]float64, rows), make([]float64, n) // sums of absolute values
				for i := range x {
					v := math.Abs(float64(dy[i]*w[i%n])) / float64(n)
					g[i/n] += v
					hats[i/n] += v * hat(i)
					size[i%n] += math.Abs(float64(dy[i])) * (1 + hat(i))
				}
				compare("dx", grads.X, wideGrads.X, func(i int) float64 {
					sigma := wide.Spread[i/n]
					return (10 + blocks) * u / (sigma + eps) * (math.Abs(float64(dy[i]*w[i%n])) + g[i/n] + hats[i/n]*hat(i)*(sigma+eps)/sigma)
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
				x, w, b, y := make([]float32, n), ones[float32](n), kerneltest.Random[float32](rand.New(rand.NewPCG(1, 2)), n), make([]float32, n)
				for i := range x {
					x[i] = v
				}
				norm := Norm[float32]{x, w, b, make([]float32, 1), make([]float32, 1), 1e-3}
				if LayerNormSigma(NewPool(1), y, norm); norm.Mean[0] != v || norm.Spread[0] != 0 || !kerneltest.SameBits(y, b) {
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
