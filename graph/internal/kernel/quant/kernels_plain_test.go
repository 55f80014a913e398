//go:build !(amd64 || arm64) || nosimd

package quant

// eachSet calls body with plain Go, since there are no instruction sets.
func eachSet(body func(set string)) { body("Go") }
