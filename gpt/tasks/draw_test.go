package tasks

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// The distances of MultiQueryRecall have the mean of their power law.
func TestDistances(t *testing.T) {
	for _, power := range []float64{0.01, 0.5, 1} {
		task := made(t, MultiQueryRecall{Vocabulary: 256, Pairs: 1, Length: 66, Power: power}, some)
		var weights, mean, square float64
		for g := 1.0; g <= 32; g++ {
			w := math.Pow(g, power-1)
			weights, mean, square = weights+w, mean+w*g, square+w*g*g
		}
		mean /= weights
		got, rows := 0.0, task.read(t, task.Val())
		for _, r := range rows {
			at := slices.IndexFunc(r.targets, func(y int) bool { return y != text.Ignore })
			got += float64(at/2) / float64(len(rows)) // the pair is before it
		}
		sigma := math.Sqrt((square/weights - mean*mean) / float64(len(rows)))
		if !(math.Abs(got-mean) <= 3*sigma) {
			t.Errorf("power %g: got a mean distance of %.3f, want %.3f ± %.3f", power, got, mean, 3*sigma)
		}
	}
}

// The brackets of Dyck are nested to Depth, and no deeper.
func TestDepth(t *testing.T) {
	for _, depth := range []int{1, 3, 5} {
		k := Dyck{Types: 5, Depth: depth, Length: 40}
		task, deepest := made(t, k, fewer), 0
		for _, r := range task.read(t, task.Val()) {
			open := 0
			for _, x := range r.tokens {
				if x < k.Types {
					open++
				} else {
					open--
				}
				deepest = max(deepest, open)
			}
		}
		if deepest != depth {
			t.Errorf("got brackets nested to %d, want %d", deepest, depth)
		}
	}
}
