package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

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
