//go:build amd64 && !nosimd

package gemm

import "golang.org/x/sys/cpu"

var (
	gemmAVX512 = microkernels{
		16, 12, rowsAVX512, colsAVX512, rowAVX512, dotsAVX512,
		copyStripAVX512, transposeStripAVX512, peakAVX512, nil, roundedRowAVX512, nil,
	}
	gemmAVX2 = microkernels{
		8, 6, rowsAVX2, colsAVX2, rowAVX2, dotsAVX2, copyStripAVX2, transposeStripAVX2, peakAVX2, nil,
		roundedRowAVX2, nil,
	}
)

// gemmBest is the widest supported instruction set of this processor, or nil.
var gemmBest = func() *microkernels {
	switch {
	case cpu.X86.HasAVX512F:
		return &gemmAVX512
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		return &gemmAVX2
	}
	return nil
}()
