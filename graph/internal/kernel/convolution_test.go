package kernel

import (
	"fmt"
	"math"
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
		x, w := kerneltest.Random[float64](rng, n), kerneltest.Random[float64](rng, taps*d)
		dy := kerneltest.Random[float64](rng, n)
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

// TestExclusion compares exclusive self-attention and its gradients with the sums written out, for heads of odd sizes,
// more tokens than Parts and fewer, and any number of threads.
func TestExclusion(t *testing.T) {
	exclusions[float64](t, 1e-13)
	exclusions[float32](t, 2e-5)
	kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) { exclusions[float32](t, 2e-5) })
}

func exclusions[T Float](t *testing.T, tolerance float64) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, of := range [][3]int{{1, 1, 1}, {3, 2, 5}, {40, 3, 7}, {17, 5, 33}, {2, 1, 64}} {
		n, h, d := of[0], of[1], of[2]
		y, v := kerneltest.Random[float64](rng, n*h*d), kerneltest.Random[float64](rng, n*h*d)
		dz := kerneltest.Random[float64](rng, n*h*d)
		lambda := kerneltest.Random[float64](rng, h)
		for _, learned := range []bool{false, true} {
			z, dy := make([]float64, n*h*d), make([]float64, n*h*d)
			dv, dlambda := make([]float64, n*h*d), make([]float64, h)
			for i := 0; i < n*h; i++ {
				at, l := i*d, 1.
				if learned {
					l = lambda[i%h]
				}
				w, s, along := 0.25, 0., 0. // ε
				for j := at; j < at+d; j++ {
					w, s, along = w+v[j]*v[j], s+y[j]*v[j], along+dz[j]*v[j]
				}
				s /= w
				dlambda[i%h] -= s * along
				for j := at; j < at+d; j++ {
					z[j] = y[j] - l*s*v[j]
					dy[j] = dz[j] - l*along/w*v[j]
					dv[j] = -l * (s*dz[j] + along/w*(y[j]-2*s*v[j]))
				}
			}
			for _, threads := range []int{1, 3} {
				p := NewPool(threads)
				e := Exclusion[T]{
					Y: kerneltest.Rounded[T](y), V: kerneltest.Rounded[T](v), Heads: h, Width: d, Eps: 0.25,
					Scratch: make([]T, 3*Parts*h),
				}
				var got [4][]T
				for i, n := range []int{n * h * d, n * h * d, n * h * d, h} {
					got[i] = make([]T, n)
				}
				if learned {
					e.Lambda = kerneltest.Rounded[T](lambda)
				} else {
					got[3], dlambda = nil, nil
				}
				Exclude(p, got[0], e)
				ExcludeBackward(p, got[1], got[2], got[3], kerneltest.Rounded[T](dz), make([]T, Parts*h), e)
				for i, want := range [][]float64{z, dy, dv, dlambda} {
					approx(t, fmt.Sprint([]string{"z", "dy", "dv", "dλ"}[i], " ", of), got[i], want, tolerance)
				}
			}
		}
	}
}

// An infinite value makes the result of its own head NaN, and no other.
func TestExclusionOfInfinity(t *testing.T) {
	y, v, z := []float32{1, 2, 3, 4, 5, 6}, []float32{1, 1, 0, float32(math.Inf(1)), 0, 0}, make([]float32, 6)
	Exclude(
		NewPool(1), z,
		Exclusion[float32]{Y: y, V: v, Heads: 3, Width: 2, Eps: 1e-12, Scratch: make([]float32, 9*Parts)},
	)
	if !(z[0] == -0.5 && z[1] == 0.5 && z[3] != z[3] && z[4] == 5 && z[5] == 6) {
		t.Errorf("got %v", z)
	}
}
