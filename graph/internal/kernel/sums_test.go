package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// TestSumsOfManyColumns: threads that share columns give the bits of one thread, with any content of the scratch.
func TestSumsOfManyColumns(t *testing.T) {
	const n, d = 37, 1003
	rng := rand.New(rand.NewPCG(1, 2))
	x, dy, w := kerneltest.Random[float32](rng, n*d), kerneltest.Random[float32](rng, n*d), kerneltest.Random[float32](rng, d)
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
