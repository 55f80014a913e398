//go:build !amd64 || nosimd

package gemm

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// pairs says that VDPBF16PS multiplies: never here.
var pairs = false

// mulPairs tells that there are no products of pairs.
func mulPairs(*kernel.Pool, *product[float32]) bool { return false }
