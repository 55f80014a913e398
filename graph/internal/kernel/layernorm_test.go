package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// normOf returns the layer norm of one row in float64, without a gain.
func normOf(x []float64, eps float64) []float64 {
	var mean, variance float64
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	y := make([]float64, len(x))
	for j, v := range x {
		y[j] = (v - mean) / math.Sqrt(variance+eps)
	}
	return y
}

// TestLayerNorm compares values with normOf, and gradients with central differences of it.
func TestLayerNorm(t *testing.T) {
	const n, d, eps, h = 37, 13, 1e-5, 1e-5
	rng := rand.New(rand.NewPCG(4, 4))
	x, dy := kerneltest.Random[float64](rng, n*d), kerneltest.Random[float64](rng, n*d)
	w, b := kerneltest.Random[float64](rng, d), kerneltest.Random[float64](rng, d)
	loss := func(x, w, b []float64) (sum float64) {
		for i := range n {
			for j, v := range normOf(x[i*d:(i+1)*d], eps) {
				sum += (v*w[j] + b[j]) * dy[i*d+j]
			}
		}
		return sum
	}
	slope := func(of []float64) []float64 {
		g := make([]float64, len(of))
		for i, v := range of {
			of[i] = v + h
			up := loss(x, w, b)
			of[i] = v - h
			g[i] = (up - loss(x, w, b)) / (2 * h)
			of[i] = v
		}
		return g
	}
	wantDX, wantDW, wantDB := slope(x), slope(w), slope(b)
	for _, threads := range []int{1, 2, 8} {
		p := NewPool(threads)
		y, mean, inv := make([]float64, n*d), make([]float64, n), make([]float64, n)
		LayerNorm(p, y, Norm[float64]{x, w, b, mean, inv, eps})
		for i := range n {
			for j, v := range normOf(x[i*d:(i+1)*d], eps) {
				if want := v*w[j] + b[j]; !(math.Abs(y[i*d+j]-want) <= 1e-13) {
					t.Fatalf("entry (%d, %d): got %v, want %v", i, j, y[i*d+j], want)
				}
			}
		}
		dx, dw, db := make([]float64, n*d), make([]float64, d), make([]float64, d)
		LayerNormBackward(p, Norm[float64]{X: x, W: w, Mean: mean, Spread: inv}, dy, NormGrads[float64]{dx, dw, db, make([]float64, 2*Parts*len(w))})
		close64(t, "dx", dx, wantDX, 1e-8)
		close64(t, "dw", dw, wantDW, 1e-8)
		close64(t, "db", db, wantDB, 1e-8)
		LayerNormBackward(p, Norm[float64]{X: x, W: w, Mean: mean, Spread: inv}, dy, NormGrads[float64]{nil, nil, nil, make([]float64, 2*Parts*len(w))}) // of no use to a caller, and no error
	}
}

func close64(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	for i, v := range want {
		if !(math.Abs(got[i]-v) <= tolerance*max(1, math.Abs(v))) {
			t.Fatalf("%s[%d]: got %v, want %v", what, i, got[i], v)
		}
	}
}

// TestLayerNormFarFromZero: the variance must not be a difference of large squares.
func TestLayerNormFarFromZero(t *testing.T) {
	x, y := []float32{10000, 10001, 10002, 10003}, make([]float32, 4)
	LayerNorm(NewPool(1), y, Norm[float32]{x, []float32{1, 1, 1, 1}, nil, make([]float32, 1), make([]float32, 1), 0})
	for j, want := range []float64{-1.3416407865, -0.4472135955, 0.4472135955, 1.3416407865} {
		if !(math.Abs(float64(y[j])-want) <= 1e-6) {
			t.Errorf("entry %d: got %v, want %v", j, y[j], want)
		}
	}
}

// TestReductionsDoNotDependOnThreads: the number of partial sums is fixed, so float32 rounds the same way.
func TestReductionsDoNotDependOnThreads(t *testing.T) {
	const n, d = 131, 29
	rng := rand.New(rand.NewPCG(5, 5))
	x, dy, w := kerneltest.Random[float32](rng, n*d), kerneltest.Random[float32](rng, n*d), kerneltest.Random[float32](rng, d)
	type result struct{ sum, dx, dw, db, y []float32 }
	run := func(threads int) result {
		p := NewPool(threads)
		r := result{make([]float32, d), make([]float32, n*d), make([]float32, d), make([]float32, d), make([]float32, n*d)}
		mean, inv := make([]float32, n), make([]float32, n)
		SumRows(p, r.sum, x, make([]float32, Parts*len(r.sum)))
		LayerNorm(p, r.y, Norm[float32]{x, w, w, mean, inv, 1e-5})
		LayerNormBackward(p, Norm[float32]{X: x, W: w, Mean: mean, Spread: inv}, dy, NormGrads[float32]{r.dx, r.dw, r.db, make([]float32, 2*Parts*len(w))})
		return r
	}
	one := run(1)
	for _, threads := range []int{2, 3, 8, 64} {
		r := run(threads)
		if !kerneltest.SameBits(one.sum, r.sum) || !kerneltest.SameBits(one.dx, r.dx) || !kerneltest.SameBits(one.dw, r.dw) || !kerneltest.SameBits(one.db, r.db) || !kerneltest.SameBits(one.y, r.y) {
			t.Errorf("%d threads give other bits than one", threads)
		}
	}
}

// TestLayerNormSigmaOnAnyThreads: the same bits on one thread and on many.
func TestLayerNormSigmaOnAnyThreads(t *testing.T) {
	const n, d = 400, 37
	rng := rand.New(rand.NewPCG(7, 7))
	x, w, b, dy := kerneltest.Random[float32](rng, n*d), kerneltest.Random[float32](rng, d), kerneltest.Random[float32](rng, d), kerneltest.Random[float32](rng, n*d)
	var want [4][]float32
	for _, threads := range []int{1, 2, 5} {
		p := NewPool(threads)
		norm := Norm[float32]{x, w, b, make([]float32, n), make([]float32, n), 1e-3}
		got := [4][]float32{make([]float32, n*d), make([]float32, n*d), make([]float32, d), make([]float32, d)}
		LayerNormSigma(p, got[0], norm)
		LayerNormSigmaBackward(p, norm, dy, NormGrads[float32]{got[1], got[2], got[3], make([]float32, 2*Parts*d)})
		if want[0] == nil {
			want = got
		}
		for i := range got {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("%d threads: other bits than one thread in result %d", threads, i)
			}
		}
	}
}

func TestSumRows(t *testing.T) {
	for _, n := range []int{1, 2, 15, 16, 17, 100} { // also fewer rows than parts
		const d = 3
		x := make([]float64, n*d)
		for i := range x {
			x[i] = float64(i)
		}
		sum := []float64{-1, -1, -1}
		SumRows(NewPool(2), sum, x, make([]float64, Parts*len(sum)))
		for j, got := range sum {
			if want := float64(n*j) + float64(d*n*(n-1)/2); got != want {
				t.Errorf("%d rows, column %d: got %v, want %v", n, j, got, want)
			}
		}
	}
}

func TestScatterAddAddsUp(t *testing.T) {
	table := []float64{9, 9, 9, 9, 9, 9}
	ScatterAdd(NewPool(1), table, []float64{1, 2, 10, 20, 100, 200}, []int{2, 0, 2}, 2)
	close64(t, "table", table, []float64{10, 20, 0, 0, 101, 202}, 0)
	y := make([]float64, 4)
	Gather(NewPool(1), y, table, []int{2, 1}, 2)
	close64(t, "row", y, []float64{101, 202, 0, 0}, 0)
}
