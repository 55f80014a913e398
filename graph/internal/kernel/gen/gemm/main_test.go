package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestCurrent: the committed files are what the generator writes.
func TestCurrent(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", "..", "gemm", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not current: go generate ./graph/internal/kernel/gemm", name)
		}
	}
}
