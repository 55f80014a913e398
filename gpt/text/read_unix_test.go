//go:build unix

package text

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestBadCorpusDevice: opening a FIFO that nobody writes to would wait for ever.
func TestBadCorpusDevice(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip("no FIFO here:", err)
	}
	for _, path := range []string{fifo, "/dev/null", "/dev/zero"} {
		done := make(chan error, 1)
		go func() {
			_, err := ReadCorpus(path)
			done <- err
		}()
		select {
		case err := <-done:
			wantError(t, err, path, "is not a regular file")
		case <-time.After(5 * time.Second):
			t.Fatalf("%s: ReadCorpus blocks", path)
		}
	}
}
