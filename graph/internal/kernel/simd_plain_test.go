package kernel

import (
	"math"
	"math/rand/v2"
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
