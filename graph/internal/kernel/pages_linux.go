package kernel

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// advise asks for many numbers in huge pages: a large model touches gigabytes for the first time in its first step, and
// page by page of 4 KiB that takes longer than the arithmetic. What is made one after the other lies side by side, so a
// page at the border of two is asked for, too: the weights of a layer are a few pages each, and would keep little but
// borders.
func advise[T Float](x []T) {
	const page = 1 << 21
	if bytes := uintptr(Bytes(x)); bytes >= page {
		at := uintptr(unsafe.Pointer(unsafe.SliceData(x)))
		from, to := at&^(page-1), (at+bytes+page-1)&^(page-1)
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_HUGEPAGE) // may be refused; nothing depends on it
	}
}
