//go:build unix

package live

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
)

// TestPipe checks that a pipe in the place of a file is refused without blocking.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(dir, program.MetricsFile), 0o644))
	if _, err := Finished(dir); err == nil || !strings.Contains(err.Error(), "metrics.jsonl") ||
		!strings.Contains(err.Error(), "is a FIFO, want a regular file") {
		t.Errorf("got %v, want an error that names the file and its kind", err)
	}
}
