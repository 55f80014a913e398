package kernel

import "unsafe"

// Line is the size of a cache line in bytes. Loading a vector that crosses two lines costs two loads.
const Line = 64

// Make allocates n zeros that begin at the start of a cache line.
func Make[T Float](n int) []T {
	x := make([]T, n)
	if n > 0 && beforeLine(x) > 0 { // some sizes of Go's allocator are not aligned
		pad := Line / int(unsafe.Sizeof(x[0]))
		x = make([]T, n+pad)
		from := beforeLine(x)
		x = x[from : from+n : from+n]
	}
	advise(x)
	return x
}

// beforeLine returns the number of entries of x before the first cache line that begins in it.
func beforeLine[T Float](x []T) int {
	return int(-uintptr(unsafe.Pointer(unsafe.SliceData(x)))%Line) / int(unsafe.Sizeof(*new(T)))
}
