//go:build !amd64 || nosimd

package kernel

func vectorSets() map[string]*vectors { return nil }
