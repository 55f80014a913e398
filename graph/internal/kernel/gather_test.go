package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// TestAddRows: the bits are the bits of a sum with the result of ScatterAdd, in place and not, for repeated ids, twice.
func TestAddRows(t *testing.T) {
	const rows, n, d = 11, 29, 19
	rng := rand.New(rand.NewPCG(1, 2))
	p, r := NewPool(1), NewRows[float32](rows, n, d)
	for range 2 {
		x, dy, ids := kerneltest.Random[float32](rng, rows*d), kerneltest.Random[float32](rng, n*d), make([]int, n)
		for i := range ids {
			ids[i] = rng.IntN(rows - 2)
		}
		table, want := make([]float32, rows*d), make([]float32, rows*d)
		ScatterAdd(p, table, dy, ids, d)
		Add(p, want, x, table)
		z := make([]float32, rows*d)
		AddRows(p, z, slices.Clone(x), dy, ids, r)
		AddRows(p, x, x, dy, ids, r)
		if !kerneltest.SameBits(z, want) || !kerneltest.SameBits(x, want) {
			t.Fatal("other sums than of two tables")
		}
	}
}

// TestRowsDoNotDependOnThreads: repeated ids are added in the order of their rows on any thread.
func TestRowsDoNotDependOnThreads(t *testing.T) {
	const rows, n, d = 211, 301, 67 // several chunks
	rng := rand.New(rand.NewPCG(3, 4))
	x, table := kerneltest.Random[float32](rng, rows*d), kerneltest.Random[float32](rng, rows*d)
	dy, ids := kerneltest.Random[float32](rng, n*d), make([]int, n)
	for i := range ids {
		ids[i] = rng.IntN(rows) * rng.IntN(2)
	}
	run := func(threads int) (all []float32) {
		p, z := NewPool(threads), make([]float32, n*d)
		Gather(p, z, table, ids, d)
		all = append(all, z...)
		AddPositions(p, z, dy, table, ids, d, 3)
		all = append(all, z...)
		ScatterAdd(p, z[:rows*d], dy, ids, d)
		all = append(all, z[:rows*d]...)
		AddRows(p, z[:rows*d], x, dy, ids, NewRows[float32](rows, n, d))
		return append(all, z[:rows*d]...)
	}
	want := run(1)
	sums := make([]float32, rows*d)
	for i, id := range ids {
		for j := range d {
			sums[id*d+j] += dy[i*d+j]
		}
	}
	if !kerneltest.SameBits(want[2*n*d:(2*n+rows)*d], sums) {
		t.Error("one thread adds in another order")
	}
	for _, threads := range []int{2, 3, 64} {
		if !kerneltest.SameBits(run(threads), want) {
			t.Errorf("%d threads give other bits than one", threads)
		}
	}
}

// The mean of the tokens of a sequence, and one of them, with their backward passes, by hand.
func TestTokens(t *testing.T) {
	tokens[float32](t)
	tokens[float64](t)
}

func tokens[T Float](t *testing.T) {
	const d = 2
	x := []T{1, 2, 3, 4, 8, 9, 10, 20, 30, 40, 80, 90} // two sequences of three tokens
	p, y, dx := NewPool(2), []T{9, 9, 9, 9}, []T{9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}
	MeanTokens(p, y, x, d)
	approx(t, "mean", y, []float64{4, 5, 40, 50}, 1e-7)
	MeanTokensBackward(p, dx, []T{3, 6, 9, 12}, d)
	approx(t, "gradient of the mean", dx, []float64{1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}, 1e-7)
	GatherTokens(y, x, []int{2, 1}, d)
	approx(t, "one token", y, []float64{8, 9, 30, 40}, 0)
	ScatterTokens(dx, []T{5, 6, 7, 8}, []int{2, 1}, d)
	approx(t, "gradient of one token", dx, []float64{0, 0, 0, 0, 5, 6, 0, 0, 7, 8, 0, 0}, 0)
	MeanTokens(p, y[:2], []T{1, 2, 6, 0, 0, 9}, 1)
	approx(t, "mean of one feature", y[:2], []float64{3, 3}, 1e-7)
}

// Several sequences on several threads give the bits of one thread.
func TestTokensDoNotDependOnThreads(t *testing.T) {
	const batch, tokens, d = 37, 19, 65
	x := kerneltest.Random[float32](rand.New(rand.NewPCG(2, 2)), batch*tokens*d)
	run := func(threads int) (all []float32) {
		y, dx := make([]float32, batch*d), make([]float32, len(x))
		MeanTokens(NewPool(threads), y, x, d)
		MeanTokensBackward(NewPool(threads), dx, y, d)
		z := make([]float32, len(x))
		loss := BinaryCrossEntropy(NewPool(threads), x, dx)
		BinaryCrossEntropyBackward(NewPool(threads), z, x, dx, 0.7)
		return append(append(append(y, dx...), z...), float32(loss))
	}
	if one := run(1); !kerneltest.SameBits(one, run(3)) {
		t.Error("three threads give other bits")
	}
}

// The loss of several labels and its gradient, also for logits whose e^z overflows, and for fewer entries than partial
// sums.
func TestBinaryCrossEntropy(t *testing.T) {
	binaryCrossEntropy[float32](t, 1e-6)
	binaryCrossEntropy[float64](t, 1e-14)
}

func binaryCrossEntropy[T Float](t *testing.T, tolerance float64) {
	z, y := []T{0, 2, -3, 1000, -1000, 1000, -1000}, []T{1, 0, 0.25, 1, 0, 0, 1}
	terms := []float64{math.Ln2, 2 + math.Log1p(math.Exp(-2)), 0.75 + math.Log1p(math.Exp(-3)), 0, 0, 1000, 1000}
	slopes := []float64{-0.5, 1 / (1 + math.Exp(-2)), 1/(1+math.Exp(3)) - 0.25, 0, 0, 1, -1}
	for n := 1; n <= len(z); n++ {
		var sum float64
		want := make([]float64, n)
		for i := range n {
			sum += terms[i] / float64(n)
			want[i] = 0.7 * slopes[i] / float64(n)
		}
		approx(t, "loss", []T{T(BinaryCrossEntropy(NewPool(1), z[:n], y[:n]))}, []float64{sum}, tolerance)
		dz := make([]T, n)
		BinaryCrossEntropyBackward(NewPool(1), dz, z[:n], y[:n], 0.7)
		approx(t, "gradient", dz, want, tolerance)
	}
}

// TestSumsOfManyColumns: threads that share columns give the bits of one thread, with any content of the scratch.
func TestSumsOfManyColumns(t *testing.T) {
	const n, d = 37, 1003
	rng := rand.New(rand.NewPCG(1, 2))
	x, dy := kerneltest.Random[float32](rng, n*d), kerneltest.Random[float32](rng, n*d)
	w := kerneltest.Random[float32](rng, d)
	run := func(threads int) []float32 {
		p, scratch := NewPool(threads), slices.Repeat([]float32{float32(math.NaN())}, 2*Parts*d)
		all := make([]float32, 3*d)
		SumRows(p, all[:d], x, scratch[:Parts*d])
		norm := Norm[float32]{X: x, W: w, Mean: make([]float32, n), Spread: w[:n]}
		LayerNormBackward(p, norm, dy, NormGrads[float32]{make([]float32, n*d), all[d : 2*d], all[2*d:], scratch})
		return all
	}
	one := run(1)
	for j := range d {
		var want [3]float64
		for i := range n {
			delta := float64(dy[i*d+j])
			want[0] += float64(x[i*d+j])
			want[1] += delta * float64(x[i*d+j]) * float64(w[i])
			want[2] += delta
		}
		for k, sum := range want {
			if got := float64(one[k*d+j]); !(math.Abs(got-sum) <= 1e-4) {
				t.Fatalf("sum %d of column %d: got %v, want %v", k, j, got, sum)
			}
		}
	}
	for _, threads := range []int{2, 3, 64} {
		if !kerneltest.SameBits(run(threads), one) {
			t.Errorf("%d threads give other bits than one", threads)
		}
	}
}
