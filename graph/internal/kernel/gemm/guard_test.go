//go:build (linux || darwin) && (amd64 || arm64) && !nosimd

package gemm

import (
	"syscall"
	"testing"
	"unsafe"
)

// guarded returns memory for n numbers between two pages that cause a crash if touched, right after the first of them
// or, with atEnd, right before the second.
func guarded(t *testing.T, atEnd bool, n int) []float32 {
	t.Helper()
	page := syscall.Getpagesize()
	size := (4*n + page - 1) / page * page
	memory, err := syscall.Mmap(
		-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE,
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(memory); err != nil {
			t.Error(err)
		}
	})
	for _, guard := range [][]byte{memory[:page], memory[page+size:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	start := page
	if atEnd {
		start += size - 4*n
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&memory[start])), n)
}
