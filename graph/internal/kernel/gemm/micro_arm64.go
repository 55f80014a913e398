//go:build arm64 && !nosimd

package gemm

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// gemmNEON has no kernel for rows: a left factor that is stored by rows is transposed while it is packed.
var gemmNEON = microkernels{
	lanes: 4, height: 12, cols: colsNEON, row: rowNEON, dots: dotsNEON, copyStrip: copyStripNEON,
	transposeStrip: func(dst, src *float32, ld, n int) { transposeNEON(dst, 2*4, src, ld, n) },
	transpose:      transposeNEON, peak: peakNEON, round: kernel.Bfloat16,
}

// gemmBest is NEON, which every arm64 has.
var gemmBest = &gemmNEON
