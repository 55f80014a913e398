//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// A FIFO in the place of a file is refused, wherever a file is read or written.
func TestPipes(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("To be, or not to be.\n", 200)), 0o644); err != nil {
		t.Fatal(err)
	}
	flagtest.RefusesFIFO(t, run, "text", "-data", "FIFO", "-out_dir", t.TempDir())
	flagtest.RefusesFIFO(t, run, "config.json", "-config", "FIFO", "-data", text, "-out_dir", t.TempDir())
	for _, name := range []string{".lock", "metrics.jsonl", "loss.png"} {
		args := append(
			flagtest.Small(), "-data", text, "-out_dir", "DIR", "-max_iters", "2", "-eval_interval", "1", "-tokens",
			"0",
		)
		flagtest.RefusesFIFO(t, run, name, args...)
	}
	flagtest.RefusesFIFO(t, run, "model.safetensors", "-sample_only", "-out_dir", "DIR")
}
