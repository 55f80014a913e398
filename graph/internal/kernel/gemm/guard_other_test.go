//go:build !(linux || darwin) && (amd64 || arm64) && !nosimd

package gemm

import (
	"math/rand/v2"
	"testing"
)

// guarded returns memory for n numbers.
func guarded(_ *testing.T, _ *rand.Rand, n int) []float32 { return make([]float32, n) }
