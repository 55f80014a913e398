//go:build !(amd64 || arm64) || nosimd

package gemm

// microkernelTile returns false: there is no assembly.
func microkernelTile(*product[float32], int, int, int, int) bool { return false }

// peakLoops returns the inner loops of a product, for measuring the peak rate.
func peakLoops() []peakLoop { return plainPeaks() }

// mirrorRows does nothing: there is no assembly.
func mirrorRows(int, Matrix[float32]) (rows int) { return 0 }
