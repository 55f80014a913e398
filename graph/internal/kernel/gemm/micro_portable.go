//go:build !(amd64 || arm64) || nosimd

package gemm

// tile32 computes a part of c.
func tile32(g *product[float32], top, bottom, left, right int) {
	plainTile(g, top, bottom, left, right)
}

// peakLoops returns the inner loops of a product, for measuring the peak rate.
func peakLoops() []peakLoop { return plainPeaks() }

// mirrorRows does nothing: there is no assembly.
func mirrorRows(int, Matrix[float32]) (rows int) { return 0 }
