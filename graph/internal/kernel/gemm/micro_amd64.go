//go:build amd64 && !nosimd

package gemm

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"golang.org/x/sys/cpu"
)

var (
	gemmAVX512 = microkernels{
		16, 12, rowsAVX512, colsAVX512, rowAVX512, dotsAVX512,
		copyStripAVX512, transposeStripAVX512, peakAVX512, nil, roundedRowAVX512, roundNumbersAVX512, nil,
	}
	gemmAVX2 = microkernels{
		8, 6, rowsAVX2, colsAVX2, rowAVX2, dotsAVX2, copyStripAVX2, transposeStripAVX2, peakAVX2, nil,
		roundedRowAVX2, roundNumbersAVX2, nil,
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

// roundNumbersAVX512 rounds numbers to bfloat16.
func roundNumbersAVX512(to, from []float32) {
	whole := len(from) &^ 31
	if whole > 0 {
		roundAVX512(&to[:whole][0], &from[0], whole/32)
	}
	kernel.Bfloat16(to[whole:], from[whole:])
}

// roundNumbersAVX2 rounds numbers to bfloat16.
func roundNumbersAVX2(to, from []float32) {
	whole := len(from) &^ 15
	if whole > 0 {
		roundAVX2(&to[:whole][0], &from[0], whole/16)
	}
	kernel.Bfloat16(to[whole:], from[whole:])
}
