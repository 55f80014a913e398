package graph

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"

// Instructions is what the kernels of float32 run on: "AVX512", "AVX2", "NEON" on arm64, or "Go" where this processor
// or this program has none of them. Their kernels compute the same bits, plain Go others.
func Instructions() string { return simd.Of[float32]().String() }
