//go:build arm64 && !nosimd

package gemm

var packedNEON = packedKernels{rowBF16NEON, rowInt8NEON, unpackBF16NEON, unpackInt8NEON}

// packedBest returns the kernels in the instruction set of the other products, or nil.
func packedBest() *packedKernels {
	if gemmBest == nil {
		return nil
	}
	return &packedNEON
}
