//go:build unix

package main

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// A FIFO in the place of a file is refused, wherever a file is read or written.
func TestPipes(t *testing.T) {
	flagtest.RefusesFIFO(t, run, "pairs.tsv", "-data", "FIFO", "-out_dir", t.TempDir())
	for _, name := range []string{".lock", "metrics.jsonl"} {
		flagtest.RefusesFIFO(t, run, name, small("DIR")...)
	}
}
