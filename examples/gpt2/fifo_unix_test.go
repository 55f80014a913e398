//go:build unix

package main

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// A FIFO in the place of a file is refused, wherever a file is read or written.
func TestPipes(t *testing.T) {
	flagtest.RefusesFIFO(t, run, "text", "-train", "FIFO", "-out_dir", t.TempDir())
	flagtest.RefusesFIFO(t, run, "text", "-eval", "FIFO", "-model", made(t))
	flagtest.RefusesFIFO(t, run, "text", "-tune", "FIFO", "-model", made(t), "-out_dir", t.TempDir())
	flagtest.RefusesFIFO(t, run, "adapter_config.json", "-adapter", "DIR", "-model", made(t), "-prompt", "The")
	flagtest.RefusesFIFO(t, run, "model.safetensors", "-model", "DIR", "-prompt", "The")
	flagtest.RefusesFIFO(
		t, run, "tokenizer.json", "-train", written(t, "abc"), "-tokenizer", "DIR", "-out_dir", t.TempDir(),
	)
}
