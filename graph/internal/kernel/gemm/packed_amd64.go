//go:build amd64 && !nosimd

package gemm

var (
	packedAVX512 = packedKernels{rowBF16AVX512, rowInt8AVX512, unpackBF16AVX512, unpackInt8AVX512}
	packedAVX2   = packedKernels{rowBF16AVX2, rowInt8AVX2, unpackBF16AVX2, unpackInt8AVX2}
)

// packedBest returns the kernels in the instruction set of the other products, or nil.
func packedBest() *packedKernels {
	switch gemmBest {
	case &gemmAVX512:
		return &packedAVX512
	case &gemmAVX2:
		return &packedAVX2
	}
	return nil
}
