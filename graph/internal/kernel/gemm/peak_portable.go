//go:build !amd64 || nosimd

package gemm

import "runtime"

func peakLoop(n int) { runtime.KeepAlive(plainPeakLoop(n)) }

func peakOps() float64 { return plainPeakOps }
