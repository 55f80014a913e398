//go:build arm64 && !nosimd

package gemm

var packedNEON = packedKernels{rowBF16NEON, rowInt8NEON, unpackBF16NEON, unpackInt8NEON}

// packedBest is in the instruction set of other products; nil if there is none.
func packedBest() *packedKernels {
	if gemmBest == nil {
		return nil
	}
	return &packedNEON
}
