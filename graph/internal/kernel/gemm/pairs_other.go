//go:build !amd64 || nosimd

package gemm

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// pairs returns false: there is no VDPBF16PS, and nothing calls pairBlock and mulPairs.
var pairs = hasPairs

func hasPairs() bool { return false }

func pairBlock(*product[float32], int, int, int, int) {}

func mulPairs(*kernel.Pool, int, *product[float32]) {}
