// Package kerneltest holds helpers shared by the tests of the kernels.
package kerneltest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// Random draws n numbers from N(0, 1).
func Random[T float32 | float64](rng *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(rng.NormFloat64())
	}
	return x
}

// Rounded returns x rounded to type T.
func Rounded[T float32 | float64](x []float64) []T {
	y := make([]T, len(x))
	for i, v := range x {
		y[i] = T(v)
	}
	return y
}

// SameBits reports whether a and b are equal, where NaN equals NaN.
func SameBits[T float32 | float64](a, b []T) bool {
	return slices.EqualFunc(a, b, func(x, y T) bool {
		return math.Float64bits(float64(x)) == math.Float64bits(float64(y))
	})
}

// EachSet runs a test with every set of vector kernels that this processor has. The set is in use during the test.
func EachSet(t *testing.T, test func(t *testing.T, v *simd.Set)) {
	sets := simd.Sets()
	if len(sets) == 0 {
		t.Skip("this processor or build has no vector kernels to compare")
	}
	for name, v := range sets {
		t.Run(name, func(t *testing.T) {
			defer simd.Use(v)()
			test(t, v)
		})
	}
}
