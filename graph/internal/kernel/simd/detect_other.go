//go:build !(amd64 || arm64) || nosimd

package simd

// Sets returns nil: there is no assembly.
func Sets() map[string]*Set { return nil }

func detect() *Set { return nil }
