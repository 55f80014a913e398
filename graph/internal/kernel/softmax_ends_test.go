package kernel_test

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// Softmax is e^(x + mask − max)/Σ over the entries whose mask is not −∞, also for numbers at the ends of the type in
// the scores or the mask, and for rows that fill vectors and rows that do not. If a weight is NaN, the hidden ones may
// be NaN too.
func TestSoftmaxAtTheEndsOfTheNumbers(t *testing.T) {
	softmaxAtTheEnds[float32](t, 0x1p-126, 0x1p-149, math.MaxFloat32)
	softmaxAtTheEnds[float64](t, 0x1p-1022, 0x1p-1074, math.MaxFloat64)
	kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) {
		softmaxAtTheEnds[float32](t, 0x1p-126, 0x1p-149, math.MaxFloat32)
	})
}

func softmaxAtTheEnds[T kernel.Float](t *testing.T, tiny, least, largest T) {
	t.Helper()
	inf := T(math.Inf(1))
	specials := []T{-inf, -largest, -1e6, -100, -tiny, -least, 0, least, tiny, 100, 1e6, largest, inf, T(math.NaN())}
	for _, n := range []int{1, 3, 7, 17, 33} {
		for _, hidden := range []bool{false, true} {
			for _, inMask := range []bool{false, true} {
				for _, a := range specials {
					for _, b := range specials {
						x, mask := make([]T, n), make([]T, n)
						for j := range x {
							x[j] = T(j%5) - 2
							if hidden && j%3 == 2 {
								mask[j] = -inf
							}
						}
						list := x
						if inMask {
							list = mask
						}
						list[n/2], list[n-1] = a, b
						want, broken := weights(x, mask)
						got := append([]T(nil), x...)
						kernel.Softmax(got, mask)
						for j, w := range want {
							g := float64(got[j])
							if broken && w == 0 && g != g {
								continue // hidden, in a row with NaN
							}
							if !(g == w || g != g && w != w || math.Abs(g-w) <= 1e-6*w+1e-37) {
								t.Errorf("%T, of %v and the mask %v: weight %d is %v, want %v", x, x, mask, j, g, w)
								break
							}
						}
					}
				}
			}
		}
	}
}

// weights returns the softmax in float64 of scores in the type; broken reports whether the row has a NaN weight.
func weights[T kernel.Float](x, mask []T) (w []float64, broken bool) {
	w = make([]float64, len(x))
	top, sum := math.Inf(-1), 0.0
	for j := range x {
		if w[j] = math.Inf(-1); mask[j] != T(w[j]) {
			w[j] = float64(x[j] + mask[j])
			top = max(top, w[j])
		}
	}
	for j := range w {
		if mask[j] != T(math.Inf(-1)) {
			w[j] = math.Exp(w[j] - top)
			sum += w[j]
		} else {
			w[j] = 0
		}
	}
	for j := range w {
		if mask[j] != T(math.Inf(-1)) {
			w[j] /= sum
		}
	}
	return w, sum != sum
}
