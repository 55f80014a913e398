//go:build arm64 && !nosimd

package simd

// Sets returns the one set that every arm64 has.
func Sets() map[string]*Set { return map[string]*Set{"NEON": setNEON} }

func detect() *Set { return setNEON }
