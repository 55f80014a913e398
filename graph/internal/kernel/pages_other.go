//go:build !linux

package kernel

// advise does nothing: huge pages are requested on Linux only.
func advise[T Float]([]T) {}
