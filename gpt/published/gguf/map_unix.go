//go:build unix

package gguf

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// mapped returns the bytes of a file of that size, which the system reads when they are used. They stay mapped as long
// as the memory is referenced.
func mapped(f *os.File, size int64) (*memory, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	m := &memory{data: data}
	runtime.AddCleanup(m, func(data []byte) { _ = unix.Munmap(data) }, data)
	return m, nil
}
