//go:build !(amd64 || arm64) || nosimd

package simd

// Sets returns plain Go: there is no assembly.
func Sets() map[string]*Set { return map[string]*Set{"Go": setGo} }

func detect() *Set { return setGo }
