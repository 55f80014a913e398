package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// TestMatMulEach compares small products and their gradients with the sums written out.
func TestMatMulEach(t *testing.T) {
	matMulsEach[float64](t, 1e-14)
	matMulsEach[float32](t, 1e-5)
	kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) { matMulsEach[float32](t, 1e-5) })
}

func matMulsEach[T Float](t *testing.T, tolerance float64) {
	rng := rand.New(rand.NewPCG(5, 1))
	for _, of := range [][4]int{{1, 1, 1, 1}, {3, 1, 4, 5}, {40, 4, 4, 33}, {17, 4, 1, 64}, {2, 3, 2, 1}} {
		n, r, s, d := of[0], of[1], of[2], of[3]
		random := func(n int) []float64 { return kerneltest.Random[float64](rng, n) }
		a, x, dy := random(n*r*s), random(n*s*d), random(n*r*d)
		y, da, dx := make([]float64, n*r*d), make([]float64, n*r*s), make([]float64, n*s*d)
		for k := range n * r * s * d {
			row, i, j, c := k/(r*s*d), k/(s*d)%r, k/d%s, k%d
			ai, xi, yi := (row*r+i)*s+j, (row*s+j)*d+c, (row*r+i)*d+c
			y[yi] += a[ai] * x[xi]
			da[ai] += dy[yi] * x[xi]
			dx[xi] += dy[yi] * a[ai]
		}
		for _, threads := range []int{1, 3} {
			p := NewPool(threads)
			a, x, dy := kerneltest.Rounded[T](a), kerneltest.Rounded[T](x), kerneltest.Rounded[T](dy)
			gotY, gotA, gotX, onlyX := make([]T, len(y)), make([]T, len(a)), make([]T, len(x)), make([]T, len(x))
			MatMulEach(p, gotY, a, x, n, s)
			MatMulEachBackward(p, gotA, gotX, dy, a, x, n, s)
			MatMulEachBackward(p, nil, onlyX, dy, a, x, n, s)
			approx(t, fmt.Sprint("y ", of), gotY, y, tolerance)
			approx(t, fmt.Sprint("da ", of), gotA, da, tolerance)
			approx(t, fmt.Sprint("dx ", of), gotX, dx, tolerance)
			approx(t, fmt.Sprint("dx alone ", of), onlyX, dx, tolerance)
		}
	}
}

// TestSinkhorn compares the normalised matrices with the divisions written out, and the gradient with central
// differences, for fewer matrices than Parts and more than are normalised at a time.
func TestSinkhorn(t *testing.T) {
	sinkhorns[float64](t, 1e-14, 1e-8)
	sinkhorns[float32](t, 1e-6, 1e-5)
	kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) { sinkhorns[float32](t, 1e-6, 1e-5) })
}

// divided returns the normalised matrix of one row of logits.
func divided(z []float64, s, pairs int, eps float64) []float64 {
	y := make([]float64, len(z))
	for i, v := range z {
		y[i] = math.Exp(v)
	}
	for step := range 2 * pairs {
		line := func(i int) int { return []int{i % s, i / s}[step%2] }
		sums := make([]float64, s)
		for i, v := range y {
			sums[line(i)] += v
		}
		for i := range y {
			if y[i] /= sums[line(i)] + eps; step == 0 {
				y[i] *= (sums[line(i)] + eps) / sums[line(i)]
			}
		}
	}
	return y
}

func sinkhorns[T Float](t *testing.T, tolerance, slopes float64) {
	rng := rand.New(rand.NewPCG(6, 1))
	for _, of := range [][3]int{{1, 1, 1}, {3, 2, 5}, {5, 4, 20}, {600, 3, 2}, {33, 5, 1}} {
		n, s, pairs := of[0], of[1], of[2]
		size := s * s
		z, dy := kerneltest.Random[float64](rng, n*size), kerneltest.Random[float64](rng, n*size)
		var y, dz []float64
		for at := 0; at < len(z); at += size {
			y = append(y, divided(z[at:at+size], s, pairs, 0.01)...)
			for i := range size {
				slope := 0.
				for _, h := range []float64{1e-5, -1e-5} {
					moved := append([]float64{}, z[at:at+size]...)
					moved[i] += h
					for j, v := range divided(moved, s, pairs, 0.01) {
						slope += v * dy[at+j] / (2 * h)
					}
				}
				dz = append(dz, slope)
			}
		}
		for _, threads := range []int{1, 3} {
			k := Sinkhorn[T]{
				Z: kerneltest.Rounded[T](z), Size: s, Pairs: pairs, Eps: 0.01,
				Scratch: make([]T, SinkhornScratch(s, pairs)),
			}
			gotY, gotZ := make([]T, len(z)), make([]T, len(z))
			k.Forward(NewPool(threads), gotY)
			k.Backward(NewPool(threads), gotZ, kerneltest.Rounded[T](dy))
			approx(t, fmt.Sprint("y ", of), gotY, y, tolerance)
			approx(t, fmt.Sprint("dz ", of), gotZ, dz, slopes)
		}
	}
}

// A matrix with an infinite or missing logit is NaN, or has an entry of 1 or 0, and the others do not change.
func TestSinkhornEnds(t *testing.T) {
	for _, end := range []float32{float32(math.Inf(1)), float32(math.NaN()), float32(math.Inf(-1)), 3e38, -3e38} {
		z := []float32{1, 2, 3, 4, end, 2, 3, 4, 1, 2, 3, 4}
		k := Sinkhorn[float32]{Z: z, Size: 2, Pairs: 3, Eps: 1e-6, Scratch: make([]float32, SinkhornScratch(2, 3))}
		y := make([]float32, len(z))
		k.Forward(NewPool(1), y)
		for i := range 4 {
			if y[i] != y[8+i] || !(y[i] > 0.1) {
				t.Errorf("%v: entry %d is %v beside the matrix and %v", end, i, y[i], y[8+i])
			}
		}
		if finite := y[4] == y[4]; finite != (math.Abs(float64(end)) < 4e38 || end < 0) || finite &&
			(end > 0) != (y[4] > 0.5) {
			t.Errorf("%v becomes %v", end, y[4:8])
		}
	}
}
