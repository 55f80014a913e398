package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// TestConvolution compares values and gradients with the sums written out, for sequences shorter than the weights, odd
// widths and any number of threads.
func TestConvolution(t *testing.T) {
	convolutions[float64](t, 1e-14)
	convolutions[float32](t, 1e-5)
	kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) { convolutions[float32](t, 1e-5) })
}

func convolutions[T Float](t *testing.T, tolerance float64) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, of := range [][4]int{{1, 1, 1, 1}, {2, 3, 5, 4}, {3, 7, 17, 4}, {2, 64, 33, 3}, {1, 2, 128, 5}} {
		sequences, length, d, taps := of[0], of[1], of[2], of[3]
		c, n := Convolution{length, taps}, of[0]*of[1]*of[2]
		x, w, dy := kerneltest.Random[float64](rng, n), kerneltest.Random[float64](rng, taps*d), kerneltest.Random[float64](rng, n)
		past := kerneltest.Random[float64](rng, sequences*(taps-1)*d)
		y, later, dx, dw := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, taps*d)
		for row := range sequences * length {
			for j := range d {
				for i := range taps {
					at, token := row*d+j, row%length-i
					if token >= 0 {
						y[at] += w[i*d+j] * x[at-i*d]
						dx[at-i*d] += w[i*d+j] * dy[at]
						dw[i*d+j] += dy[at] * x[at-i*d]
					} else {
						later[at] += w[i*d+j] * past[(row/length*(taps-1)+taps-1+token)*d+j]
					}
				}
			}
		}
		r := func(x []float64) []T { return kerneltest.Rounded[T](x) }
		for _, threads := range []int{1, 2, 5} {
			p, name := NewPool(threads), fmt.Sprint(of, ", threads ", threads)
			got, gotDW := make([]T, n), make([]T, taps*d)
			Convolve(p, c, got, r(x), r(w), nil)
			approx(t, name, got, y, tolerance)
			Convolve(p, c, got, r(x), r(w), r(past))
			for i := range later {
				later[i] += y[i]
			}
			approx(t, name+", past", got, later, tolerance)
			for i := range later {
				later[i] -= y[i]
			}
			ConvolveBackward(p, c, got, gotDW, r(x), r(w), r(dy), make([]T, Parts*taps*d))
			approx(t, name+", dx", got, dx, tolerance)
			approx(t, name+", dw", gotDW, dw, 10*tolerance)
		}
	}
}

// TestRemember moves fewer and more tokens than are kept.
func TestRemember(t *testing.T) {
	past := []float64{1, 2, 3, 4, 5, 6}
	Remember(past, []float64{7, 8}, 2)
	if got := fmt.Sprint(past); got != "[2 3 7 5 6 8]" {
		t.Errorf("one number: %s", got)
	}
	Remember(past, []float64{1, 2, 3, 4, 5, 6, 7, 8}, 2)
	if got := fmt.Sprint(past); got != "[2 3 4 6 7 8]" {
		t.Errorf("four numbers: %s", got)
	}
}
