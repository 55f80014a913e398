//go:build !amd64 || nosimd

package kernel

func peakLoop(n int) { plainPeakLoop(n) }

func peakOps() float64 { return plainPeakOps }
