//go:build !amd64 || nosimd

package gemm

// microkernelTile tells that there is no assembly.
func microkernelTile(*product[float32], int, int, int, int) bool { return false }
