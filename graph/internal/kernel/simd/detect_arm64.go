//go:build arm64 && !nosimd

package simd

// Sets returns the vector kernels, which every arm64 can run, and plain Go.
func Sets() map[string]*Set { return map[string]*Set{"NEON": setNEON, "Go": setGo} }

func detect() *Set { return setNEON }
