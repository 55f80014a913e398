//go:build !(amd64 || arm64) || nosimd

package gemm

// microkernelTile tells that there is no assembly.
func microkernelTile(*product[float32], int, int, int, int) bool { return false }

// peakLoops returns of what a product is made.
func peakLoops() []peakLoop { return plainPeaks() }
