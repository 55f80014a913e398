package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// TestAddRows: the bits of a sum with what ScatterAdd makes, in place and not, of ids that come again, twice.
func TestAddRows(t *testing.T) {
	const rows, n, d = 11, 29, 19
	rng := rand.New(rand.NewPCG(1, 2))
	r := NewRows[float32](rows, n, d)
	for range 2 {
		x, dy, ids := kerneltest.Random[float32](rng, rows*d), kerneltest.Random[float32](rng, n*d), make([]int, n)
		for i := range ids {
			ids[i] = rng.IntN(rows - 2)
		}
		table, want := make([]float32, rows*d), make([]float32, rows*d)
		ScatterAdd(table, dy, ids, d)
		Add(NewPool(1), want, x, table)
		z := make([]float32, rows*d)
		AddRows(z, slices.Clone(x), dy, ids, r)
		AddRows(x, x, dy, ids, r)
		if !kerneltest.SameBits(z, want) || !kerneltest.SameBits(x, want) {
			t.Fatal("other sums than of two tables")
		}
	}
}
