package kernel

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// advise asks for many numbers in huge pages: a large model touches gigabytes for the first time in its first step, and page
// by page of 4 KiB that takes longer than the arithmetic.
func advise[T Float](x []T) {
	const page, worth = 1 << 21, 1 << 23
	if bytes := Bytes(x); bytes >= worth {
		// The advice takes whole pages of 4 KiB: skip to the first of them. It may be refused; nothing depends on it.
		raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), bytes)
		skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) & (page - 1))
		if end := (bytes - skip) &^ (page - 1); end > 0 {
			_ = unix.Madvise(raw[skip:skip+end], unix.MADV_HUGEPAGE)
		}
	}
}
