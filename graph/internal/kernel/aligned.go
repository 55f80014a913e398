package kernel

import "unsafe"

// Line is the bytes of a line of the cache: a vector that lies across two of them costs two.
const Line = 64

// Make allocates n zeros, from the beginning of a line on.
func Make[T Float](n int) []T {
	x := make([]T, n)
	if n > 0 && beforeLine(x) > 0 { // as with some sizes of Go's allocator
		pad := Line / int(unsafe.Sizeof(x[0]))
		x = make([]T, n+pad)
		from := beforeLine(x)
		x = x[from : from+n : from+n]
	}
	advise(x)
	return x
}

// beforeLine is how many entries of x lie before the first line that begins in it.
func beforeLine[T Float](x []T) int {
	return int(-uintptr(unsafe.Pointer(unsafe.SliceData(x)))%Line) / int(unsafe.Sizeof(*new(T)))
}
