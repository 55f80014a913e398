//go:build unix

package flagtest

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// RefusesFIFO runs a program with a FIFO of that name in an empty directory. FIFO stands for its path in args, and DIR
// for the directory. The program must refuse it at once by its path and kind, because opening it would block for ever.
func RefusesFIFO(
	t *testing.T, run func(context.Context, []string, io.Writer, io.Writer) error, name string, args ...string,
) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no FIFO here:", err)
	}
	var given []string
	for _, arg := range args {
		given = append(given, strings.NewReplacer("FIFO", path, "DIR", dir).Replace(arg))
	}
	done := make(chan error, 1)
	go func() { done <- run(t.Context(), given, io.Discard, io.Discard) }()
	select {
	case err := <-done:
		const kind = "is a FIFO, want a regular file"
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), kind) {
			t.Errorf("%s %q: got %v, want that it %s", name, args, err, kind)
		}
	case <-time.After(time.Minute):
		t.Fatalf("%s %q: the program blocks", name, args)
	}
}
