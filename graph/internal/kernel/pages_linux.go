package kernel

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// advise requests huge pages for large slices. A large model touches gigabytes for the first time in its first step,
// and in pages of 4 KiB that takes longer than the arithmetic. Slices allocated one after the other are adjacent, so
// the huge page at the border of two slices is requested too: the weights of a layer are only a few pages, most of
// which would otherwise be borders.
func advise[T Float](x []T) {
	const page = 1 << 21
	if bytes := uintptr(Bytes(x)); bytes >= page {
		at := uintptr(unsafe.Pointer(unsafe.SliceData(x)))
		from, to := at&^(page-1), (at+bytes+page-1)&^(page-1)
		// The kernel may refuse; nothing depends on it.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_HUGEPAGE)
	}
}
