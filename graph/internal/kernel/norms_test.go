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
		LayerNormBackward(
			p, Norm[float64]{X: x, W: w, Mean: mean, Spread: inv}, dy,
			NormGrads[float64]{dx, dw, db, make([]float64, 2*Parts*len(w))},
		)
		close64(t, "dx", dx, wantDX, 1e-8)
		close64(t, "dw", dw, wantDW, 1e-8)
		close64(t, "db", db, wantDB, 1e-8)
		// of no use to a caller, and no error
		LayerNormBackward(
			p, Norm[float64]{X: x, W: w, Mean: mean, Spread: inv}, dy,
			NormGrads[float64]{nil, nil, nil, make([]float64, 2*Parts*len(w))},
		)
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
	x, dy := kerneltest.Random[float32](rng, n*d), kerneltest.Random[float32](rng, n*d)
	w := kerneltest.Random[float32](rng, d)
	type result struct{ sum, dx, dw, db, y []float32 }
	run := func(threads int) result {
		p := NewPool(threads)
		r := result{
			make([]float32, d), make([]float32, n*d), make([]float32, d), make([]float32, d), make([]float32, n*d),
		}
		mean, inv := make([]float32, n), make([]float32, n)
		SumRows(p, r.sum, x, make([]float32, Parts*len(r.sum)))
		LayerNorm(p, r.y, Norm[float32]{x, w, w, mean, inv, 1e-5})
		LayerNormBackward(
			p, Norm[float32]{X: x, W: w, Mean: mean, Spread: inv}, dy,
			NormGrads[float32]{r.dx, r.dw, r.db, make([]float32, 2*Parts*len(w))},
		)
		return r
	}
	one := run(1)
	for _, threads := range []int{2, 3, 8, 64} {
		r := run(threads)
		if !kerneltest.SameBits(one.sum, r.sum) || !kerneltest.SameBits(one.dx, r.dx) ||
			!kerneltest.SameBits(one.dw, r.dw) || !kerneltest.SameBits(one.db, r.db) ||
			!kerneltest.SameBits(one.y, r.y) {
			t.Errorf("%d threads give other bits than one", threads)
		}
	}
}

// TestLayerNormSigmaOnAnyThreads: the same bits on one thread and on many.
func TestLayerNormSigmaOnAnyThreads(t *testing.T) {
	const n, d = 400, 37
	rng := rand.New(rand.NewPCG(7, 7))
	x, w := kerneltest.Random[float32](rng, n*d), kerneltest.Random[float32](rng, d)
	b, dy := kerneltest.Random[float32](rng, d), kerneltest.Random[float32](rng, n*d)
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

// The norm by the root of the mean of squares equals its formula, and its gradients equal differences of it, on any
// number of threads.
func TestRMSNorm(t *testing.T) {
	const n, d, eps, h = 37, 13, 0.1, 1e-5
	rng := rand.New(rand.NewPCG(8, 8))
	x, w := kerneltest.Random[float64](rng, n*d), kerneltest.Random[float64](rng, d)
	dy := kerneltest.Random[float64](rng, n*d)
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
		p, y := NewPool(threads), make([]float64, n*d)
		norm := Norm[float64]{X: x, W: w, Spread: make([]float64, n), Eps: eps}
		RMSNorm(p, y, norm)
		approx(t, "y", y, wantY, 1e-14)
		// of another use
		grads := NormGrads[float64]{
			X: make([]float64, n*d), W: make([]float64, d), Scratch: slices.Repeat([]float64{9}, 2*Parts*d),
		}
		RMSNormBackward(p, norm, dy, grads)
		approx(t, "dx", grads.X, wantDX, 1e-8)
		approx(t, "dw", grads.W, wantDW, 1e-8)
		grads.W = nil // optional
		RMSNormBackward(p, norm, dy, grads)
	}
}

// Rows that are distributed to threads are normalised as each of them alone.
func TestNormsOfManyRows(t *testing.T) {
	const d = grain / 2
	const rows = 7 // two of them at a time
	x, w := kerneltest.Random[float64](rand.New(rand.NewPCG(3, 3)), rows*d), ones[float64](d)
	for name, norm := range map[string]func(*Pool, []float64, Norm[float64]){
		"layernorm": LayerNorm[float64], "σ": LayerNormSigma[float64], "rms": RMSNorm[float64],
	} {
		y, mean, spread := make([]float64, rows*d), make([]float64, rows), make([]float64, rows)
		norm(NewPool(2), y, Norm[float64]{X: x, W: w, Mean: mean, Spread: spread, Eps: 0.1})
		one, mu, sigma := make([]float64, d), make([]float64, 1), make([]float64, 1)
		for i := range rows {
			norm(NewPool(1), one, Norm[float64]{X: x[i*d : (i+1)*d], W: w, Mean: mu, Spread: sigma, Eps: 0.1})
			if !kerneltest.SameBits(y[i*d:(i+1)*d], one) || mean[i] != mu[0] || spread[i] != sigma[0] {
				t.Errorf(
					"%s: row %d differs: μ %v, want %v, spread %v, want %v", name, i, mean[i], mu[0], spread[i],
					sigma[0],
				)
			}
		}
	}
}

// An action without weight has gradient 0, for any logits, and so has an ignored id, whose probability counts as 1.
func TestActionsWithoutWeight(t *testing.T) {
	inf := math.Inf(1)
	logits, lse, y := []float64{1, 2, 3, inf, -inf, 0}, []float64{4, inf}, []float64{7, 7}
	for name, backward := range map[string]func(dz []float64){
		"rollout": func(dz []float64) {
			ReinforceBackward(NewPool(1), dz, logits, lse, []float64{0, 0}, []int{1, 0}, 1)
		},
		"log probabilities": func(dz []float64) {
			LogProbs(NewPool(1), y, logits, lse, []int{-1, -1}, -1)
			LogProbsBackward(NewPool(1), dz, logits, lse, []float64{inf, 3}, []int{-1, -1}, -1)
			if y[0] != 0 || y[1] != 0 {
				t.Errorf("got the log probabilities %v, want 0", y)
			}
		},
	} {
		dz := []float64{7, 7, 7, 7, 7, 7}
		backward(dz)
		for i, v := range dz {
			if v != 0 {
				t.Errorf("%s, entry %d: got %v, want 0", name, i, v)
			}
		}
	}
}

// The gradient of an ignored row is 0, with any previous content.
func TestIgnoredRowsAreCleared(t *testing.T) {
	dz := []float64{7, 7, 7, 7}
	CrossEntropyBackward(NewPool(1), dz, []float64{1, 2, 3, 4}, []float64{3, 5}, []int{-1, 0}, -1, 1)
	if dz[0] != 0 || dz[1] != 0 || dz[2] == 7 {
		t.Errorf("got %v, want 0 and 0 first", dz)
	}
}
