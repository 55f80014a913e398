//go:build !(amd64 || arm64) || nosimd

package gemm

// eachPackedSet calls body with plain Go, which is all there is.
func eachPackedSet(body func(set string)) { body("Go") }
