//go:build !(amd64 || arm64) || nosimd

package gemm

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// tile32 computes a part of c.
func tile32(g *product[float32], top, bottom, left, right int) {
	plainTile(g, top, bottom, left, right, nil)
}

// roundedTile computes a part of c, with the numbers of b rounded to bfloat16.
func roundedTile(g *product[float32], top, bottom, left, right int) {
	plainTile(g, top, bottom, left, right, kernel.Bfloat16)
}

// roundNumbers rounds numbers to bfloat16.
func roundNumbers(to, from []float32) { kernel.Bfloat16(to, from) }

// peakLoops returns the inner loops of a product, for measuring the peak rate.
func peakLoops() []peakLoop { return plainPeaks() }

// mirrorRows does nothing: there is no assembly.
func mirrorRows(int, Matrix[float32]) (rows int) { return 0 }
