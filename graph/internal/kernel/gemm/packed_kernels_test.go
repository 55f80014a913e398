//go:build (amd64 || arm64) && !nosimd

package gemm

// eachPackedSet calls body once with each instruction set in use.
func eachPackedSet(body func(set string)) {
	best := gemmBest
	defer func() { gemmBest = best }()
	for set, kernels := range gemmSets() {
		gemmBest = kernels
		body(set)
	}
}
