//go:build !(amd64 || arm64) || nosimd

package gemm

// hasFMA reports whether products consist of multiplications and additions that are rounded once.
func hasFMA() bool { return false }
