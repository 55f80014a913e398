package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// TestAdamWTrajectory compares five steps with the definition written out.
func TestAdamWTrajectory(t *testing.T) {
	o := AdamW{LR: 0.1, Beta1: 0.8, Beta2: 0.9, Eps: 1e-3, Decay: 0.25}
	grads := []float64{0.5, -2, 0, 3, 1e-4}
	const scale = 0.5
	w, m, v := []float64{0.7}, []float64{0}, []float64{0}
	theta, first, second := 0.7, 0., 0.
	for i, g := range grads {
		Update(o, i+1, scale, w, []float64{g}, m, v)
		g *= scale
		first = 0.8*first + 0.2*g
		second = 0.9*second + 0.1*g*g
		mHat := first / (1 - math.Pow(0.8, float64(i+1)))
		vHat := second / (1 - math.Pow(0.9, float64(i+1)))
		theta -= 0.1 * (mHat/(math.Sqrt(vHat)+1e-3) + 0.25*theta)
		close64(t, "w, m, v", []float64{w[0], m[0], v[0]}, []float64{theta, first, second}, 1e-15)
	}
}

// TestAdamWFirstStep: for gradients of every size, the first step is −η·sign(g) − ηλθ.
func TestAdamWFirstStep(t *testing.T) {
	o := AdamW{LR: 0.01, Beta1: 0.9, Beta2: 0.99, Decay: 0.1}
	w, g := []float64{2, 2, -3}, []float64{1e-6, -1e6, 4}
	Update(o, 1, 1, w, g, make([]float64, 3), make([]float64, 3))
	close64(t, "w", w, []float64{2 - 0.01 - 0.002, 2 + 0.01 - 0.002, -3 - 0.01 + 0.003}, 1e-12)
}

// TestAdamWWithoutGradient: only the decay acts, θ(1 − ηλ), also on weights that never had a gradient.
func TestAdamWWithoutGradient(t *testing.T) {
	o := AdamW{LR: 0.01, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, Decay: 0.1}
	w := []float64{2, -5}
	Update(o, 1, 1, w, make([]float64, 2), make([]float64, 2), make([]float64, 2))
	close64(t, "w", w, []float64{2 * 0.999, -5 * 0.999}, 1e-15)
}

func TestAdamWFloat32FollowsFloat64(t *testing.T) {
	const n = 20_001 // several chunks
	rng := rand.New(rand.NewPCG(6, 6))
	o := AdamW{LR: 1e-3, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, Decay: 0.1}
	w := kerneltest.Random[float64](rng, n)
	m, v := make([]float64, n), make([]float64, n)
	w32, m32, v32, g32 := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	for i, x := range w {
		w32[i] = float32(x)
	}
	for step := 1; step <= 5; step++ {
		g := kerneltest.Random[float64](rng, n)
		for i, x := range g {
			g32[i] = float32(x)
		}
		Update(o, step, 0.3, w, g, m, v)
		Update(o, step, 0.3, w32, g32, m32, v32)
	}
	for i, want := range w {
		if !(math.Abs(float64(w32[i])-want) <= 1e-6) {
			t.Fatalf("entry %d: got %v, want %v", i, w32[i], want)
		}
	}
}

func TestSumSquares(t *testing.T) {
	x := make([]float32, 3*grain+5)
	for i := range x {
		x[i] = 3
	}
	for _, threads := range []int{1, 2, 8} {
		if got, want := SumSquares(NewPool(threads), x), 9*float64(len(x)); got != want {
			t.Errorf("%d threads: got %v, want %v", threads, got, want)
		}
	}
	if got := SumSquares(NewPool(2), []float32{1e30, 1e30}); !(math.Abs(got/2e60-1) <= 1e-6) {
		t.Errorf("got %v, want 2e60: the sum is taken in float64", got)
	}
	p := NewPool(1)
	for _, n := range []int{3*grain + 5, 2 * grain, 7, 3 * grain} { // nothing of the previous sum is left
		y := make([]float64, n)
		y[n-1], y[0] = 2, 1
		if got := SumSquares(p, y); got != 5 {
			t.Errorf("%d numbers: got %v, want 5", n, got)
		}
	}
	if got := SumSquares(NewPool(2), []float32(nil)); got != 0 {
		t.Errorf("of nothing: got %v", got)
	}
}

// TestFinite: a NaN or infinite number is noticed at any place, with vectors and in plain Go.
func TestFinite(t *testing.T) {
	const n = 1003
	if !Finite(make([]float32, n)) || !Finite(make([]float64, n)) || !Finite[float32](nil) || !Finite[float64](nil) {
		t.Error("zeros are not finite")
	}
	for at := range n {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			x := make([]float32, n)
			if x[at] = float32(bad); Finite(x) || Finite(widened(x)) {
				t.Fatalf("entry %d is %v: finite", at, bad)
			}
		}
	}
}
