//go:build !unix

package gguf

import (
	"io"
	"os"
)

// mapped returns the bytes of a file of that size, which it reads into memory.
func mapped(f *os.File, size int64) (*memory, error) {
	m := &memory{data: make([]byte, size)}
	_, err := io.ReadFull(f, m.data)
	return m, err
}
