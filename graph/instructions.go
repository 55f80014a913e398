package graph

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"

// Instructions returns the instruction set of the float32 kernels: "AVX512", "AVX2", "NEON" on arm64, or "Go" if this
// processor or this program supports none of them. The kernels of the three compute the same bits; plain Go computes
// others.
func Instructions() string { return simd.Of[float32]().String() }
