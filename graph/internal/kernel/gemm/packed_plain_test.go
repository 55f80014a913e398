//go:build !(amd64 || arm64) || nosimd

package gemm

// eachPackedSet calls body with plain Go, since there are no instruction sets.
func eachPackedSet(body func(set string)) { body("Go") }
