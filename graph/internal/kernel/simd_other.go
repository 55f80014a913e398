//go:build !amd64 || nosimd

package kernel

func detect() *vectors { return nil }
