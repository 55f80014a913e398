//go:build !amd64 || nosimd

package gemm

// pairs says that VDPBF16PS multiplies: never here.
var pairs = false

// pairBlock tells that there are no products of pairs.
func pairBlock(*product[float32], int, int, int, int) bool { return false }
