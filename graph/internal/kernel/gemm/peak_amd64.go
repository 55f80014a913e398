//go:build amd64 && !nosimd

package gemm

import "runtime"

// peakLoop does n times peakOps operations.
func peakLoop(n int) {
	if gemmBest == nil {
		runtime.KeepAlive(plainPeakLoop(n))
		return
	}
	gemmBest.peak(n)
}

func peakOps() float64 {
	if gemmBest == nil {
		return plainPeakOps
	}
	return float64(2 * 24 * gemmBest.lanes)
}
