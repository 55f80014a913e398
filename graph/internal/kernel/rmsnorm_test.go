package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// The norm by the root of the mean of squares equals its formula, and its gradients equal differences of it, on any
// number of threads.
func TestRMSNorm(t *testing.T) {
	const n, d, eps, h = 37, 13, 0.1, 1e-5
	rng := rand.New(rand.NewPCG(8, 8))
	x, w, dy := kerneltest.Random[float64](rng, n*d), kerneltest.Random[float64](rng, d), kerneltest.Random[float64](rng, n*d)
	formula := func() (y []float64) {
		for i := range n {
			row, squares := x[i*d:(i+1)*d], 0.0
			for _, v := range row {
				squares += v * v / d
			}
			for j, v := range row {
				y = append(y, v/math.Sqrt(squares+eps)*w[j])
			}
		}
		return y
	}
	slope := func(of []float64) []float64 {
		loss := func() (sum float64) {
			for i, y := range formula() {
				sum += y * dy[i]
			}
			return sum
		}
		g := make([]float64, len(of))
		for i, keep := range of {
			of[i] = keep + h
			up := loss()
			of[i] = keep - h
			g[i], of[i] = (up-loss())/(2*h), keep
		}
		return g
	}
	wantY, wantDX, wantDW := formula(), slope(x), slope(w)
	for _, threads := range []int{1, 2, 8} {
		p, y, norm := NewPool(threads), make([]float64, n*d), Norm[float64]{X: x, W: w, Spread: make([]float64, n), Eps: eps}
		RMSNorm(p, y, norm)
		approx(t, "y", y, wantY, 1e-14)
		grads := NormGrads[float64]{X: make([]float64, n*d), W: make([]float64, d), Scratch: slices.Repeat([]float64{9}, 2*Parts*d)} // of another use
		RMSNormBackward(p, norm, dy, grads)
		approx(t, "dx", grads.X, wantDX, 1e-8)
		approx(t, "dw", grads.W, wantDW, 1e-8)
		grads.W = nil // optional
		RMSNormBackward(p, norm, dy, grads)
	}
}
