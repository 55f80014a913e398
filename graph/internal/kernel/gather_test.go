package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// TestAddRows: the bits are those of a sum with the result of ScatterAdd, in place and not, for repeated ids, twice.
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
	x, table, dy, ids := kerneltest.Random[float32](rng, rows*d), kerneltest.Random[float32](rng, rows*d), kerneltest.Random[float32](rng, n*d), make([]int, n)
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
