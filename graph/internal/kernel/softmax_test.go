package kernel

import (
	"math"
	"testing"
)

// Softmax shifts the scores by the largest visible one, in float64, which is computed in plain Go, and in float32.
func TestSoftmaxShifts(t *testing.T) {
	softmaxShifts[float32](t)
	softmaxShifts[float64](t)
}

func softmaxShifts[T Float](t *testing.T) {
	e, hidden := math.Exp(-1), T(math.Inf(-1))
	for _, tc := range []struct {
		x, mask []T
		want    []float64
	}{
		{[]T{1000, 999, -1000}, []T{0, 0, 0}, []float64{1 / (1 + e), e / (1 + e), 0}},
		{[]T{-1000, -1001, 5e4}, []T{0, 0, hidden}, []float64{1 / (1 + e), e / (1 + e), 0}},
		{[]T{5e4, -2000, -2000}, []T{hidden, 0, -1}, []float64{0, 1 / (1 + e), e / (1 + e)}},
	} {
		Softmax(tc.x, tc.mask)
		for i, got := range tc.x {
			if !(math.Abs(float64(got)-tc.want[i]) <= 1e-6) {
				t.Errorf("%T, entry %d: got %v, want %v", got, i, tc.x, tc.want)
			}
		}
	}
}

func TestCrossEntropyByHand(t *testing.T) {
	logits := []float64{0, math.Log(3), 5, 5, 1, 2}
	targets := []int{1, 0, 7}
	lse, dz := make([]float64, 3), make([]float64, 6)
	sum, kept := CrossEntropy(NewPool(1), logits, lse, targets, 7)
	if want := -math.Log(0.75) + math.Ln2; !(math.Abs(sum-want) <= 1e-15) || kept != 2 {
		t.Errorf("got %v over %d rows, want %v over 2", sum, kept, want)
	}
	CrossEntropyBackward(NewPool(1), dz, logits, lse, targets, 7, 2)
	close64(t, "dz", dz, []float64{0.5, -0.5, -1, 1, 0, 0}, 1e-14)
}

// Two classes with the probabilities ¼ and ¾: Σ e^z is 4, and the mean of the logits ½ ln 3.
func TestRegularizedCrossEntropyByHand(t *testing.T) {
	const s, lambda = 0.3, 0.2
	logits, targets := []float64{0, math.Log(3), 5, 5, 1, 2}, []int{1, 7, 7}
	lse, dz := make([]float64, 3), make([]float64, 6)
	r := Regularized[float64]{s, lambda, make([]float64, 3)}
	sum, kept := r.CrossEntropy(NewPool(1), logits, lse, targets, 7)
	want := -math.Log(0.75) + s*math.Log(3)/2 + lambda*math.Log(4)*math.Log(4)
	if !(math.Abs(sum-want) <= 1e-15) || kept != 1 {
		t.Errorf("got %v over %d rows, want %v over 1", sum, kept, want)
	}
	r.CrossEntropyBackward(NewPool(1), dz, logits, lse, targets, 7, 2)
	more := 1 + 2*lambda*math.Log(4)
	close64(t, "dz", dz, []float64{2 * (more/4 - s/2), 2 * (more*3/4 - (1 - s) - s/2), 0, 0, 0, 0}, 1e-14)
}

// TestCrossEntropyOfHugeLogits: neither overflow nor NaN, and the loss is the distance of the two logits.
func TestCrossEntropyOfHugeLogits(t *testing.T) {
	for _, c := range []struct {
		logits []float32
		want   float64
	}{
		{[]float32{1e30, -1e30}, 0},
		{[]float32{-1e30, 1e30}, 2e30},
		{[]float32{1000, 1000}, math.Ln2},
		{[]float32{-1000, -1000}, math.Ln2},
		{[]float32{0, 200}, 200},
		{[]float32{1e30, 1e30}, 0}, // ln 2 is less than the last place of 1e30
		{[]float32{3, float32(math.Inf(-1))}, 0},
	} {
		lse, dz := make([]float32, 1), make([]float32, 2)
		sum, _ := CrossEntropy(NewPool(1), c.logits, lse, []int{0}, -1)
		if !(math.Abs(sum-c.want) <= 1e-4*max(1, c.want)) {
			t.Errorf("%v: got %v, want %v", c.logits, sum, c.want)
		}
		CrossEntropyBackward(NewPool(1), dz, c.logits, lse, []int{0}, -1, 1)
		for _, g := range dz {
			if !(math.Abs(float64(g)) <= 1) {
				t.Errorf("%v: gradient %v", c.logits, dz)
			}
		}
	}
}

func TestCrossEntropyPassesNaNOn(t *testing.T) {
	for _, logits := range [][]float32{{float32(math.NaN()), 0}, {0, float32(math.NaN())}, {float32(math.Inf(1)), 0}} {
		if sum, _ := CrossEntropy(NewPool(1), logits, make([]float32, 1), []int{1}, -1); sum == sum {
			t.Errorf("%v: got %v, want NaN", logits, sum)
		}
	}
}

// The gradient of a row is scale·(softmax − onehot), even for large logits, whose log-sum-exp has no digits left for
// ln 3.
func TestGradientsOfLargeLogits(t *testing.T) {
	gradientsOfLargeLogits[float32](t)
	gradientsOfLargeLogits[float64](t)
}

func gradientsOfLargeLogits[T Float](t *testing.T) {
	for _, z := range []T{1e30, -1e30, 1e7, -1e7, 1500, -1500} {
		logits, lse, factor, dz := []T{z, z, z}, make([]T, 1), make([]T, 1), make([]T, 3)
		want := []float64{2. / 3, -4. / 3, 2. / 3}
		check := func(loss string) {
			for i, got := range dz {
				if !(math.Abs(float64(got)-want[i]) <= 1e-6) {
					t.Errorf("%s, logits %v, %T: got the gradient %v, want %v", loss, z, z, dz, want)
					break
				}
			}
		}
		CrossEntropy(NewPool(1), logits, lse, []int{1}, -1)
		CrossEntropyBackward(NewPool(1), dz, logits, lse, []int{1}, -1, 2)
		check("cross entropy")
		Reinforce(NewPool(1), logits, lse, factor, Rollout[T]{Actions: []int{1}, Returns: []T{1}, Weights: []T{1}})
		ReinforceBackward(NewPool(1), dz, logits, lse, factor, []int{1}, 2)
		check("reinforce")
		LogProbs(NewPool(1), factor, logits, lse, []int{1}, -1)
		LogProbsBackward(NewPool(1), dz, logits, lse, []T{-2}, []int{1}, -1)
		check("log probabilities")
	}
}

// CrossEntropyBackward computes dz = scale·(softmax(z) − onehot(target)), or 0 for rows whose target is ignore.
func CrossEntropyBackward[T Float](p *Pool, dz, logits, lse []T, targets []int, ignore int, scale T) {
	Regularized[T]{}.CrossEntropyBackward(p, dz, logits, lse, targets, ignore, scale)
}
