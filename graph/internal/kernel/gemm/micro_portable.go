//go:build !amd64 || nosimd

package gemm

// microkernelTile tells that there is no assembly.
func microkernelTile(*product[float32], int, int, int, int) bool { return false }

// peakLoop does a number of multiplications and additions n times, counted as operations.
func peakLoop() (loop func(n int), operations float64) { return plainPeak, plainPeakOps }
