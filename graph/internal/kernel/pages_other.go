//go:build !linux

package kernel

// Make allocates n zeros.
func Make[T Float](n int) []T { return make([]T, n) }
