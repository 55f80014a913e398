package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

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
				t.Errorf("%s: row %d differs: μ %v, want %v, spread %v, want %v", name, i, mean[i], mu[0], spread[i], sigma[0])
			}
		}
	}
}

// An action without weight has gradient 0, for any logits.
func TestActionsWithoutWeight(t *testing.T) {
	inf := math.Inf(1)
	dz := []float64{7, 7, 7, 7, 7, 7}
	ReinforceBackward(NewPool(1), dz, []float64{1, 2, 3, inf, -inf, 0}, []float64{4, inf}, []float64{0, 0}, []int{1, 0}, 1)
	for i, v := range dz {
		if v != 0 {
			t.Errorf("entry %d: got %v, want 0", i, v)
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
