//go:build !amd64 || nosimd

package gemm

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// pairs is false: there is no VDPBF16PS.
var pairs = false

// pairBlock and mulPairs return false: there are no products of pairs.
func pairBlock(*product[float32], int, int, int, int) bool { return false }

func mulPairs(*kernel.Pool, int, *product[float32]) bool { return false }
