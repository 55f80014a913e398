//go:build unix

package text

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestBadCorpusDevice: opening a FIFO that nobody writes to would wait for ever, and so would this test.
func TestBadCorpusDevice(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip("no FIFO here:", err)
	}
	for _, path := range []string{fifo, "/dev/null", "/dev/zero"} {
		_, err := ReadCorpus(path)
		wantError(t, err, path, "is not a regular file")
	}
}
