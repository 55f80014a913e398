//go:build arm64 && !nosimd

package simd

// Sets returns the single set, which every arm64 can run.
func Sets() map[string]*Set { return map[string]*Set{"NEON": setNEON} }

func detect() *Set { return setNEON }
