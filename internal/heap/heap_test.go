package heap

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestLimit: tests have a limit, benchmarks have none.
func TestLimit(t *testing.T) {
	args, before := os.Args, debug.SetMemoryLimit(-1)
	percent := debug.SetGCPercent(100)
	t.Cleanup(func() {
		os.Args = args
		debug.SetMemoryLimit(before)
		debug.SetGCPercent(percent)
	})
	os.Args = []string{"x.test", "-test.benchtime", "2x"}
	if Limit(); debug.SetMemoryLimit(-1) != before {
		t.Errorf("benchmarks: got a limit of %d bytes, want %d as before", debug.SetMemoryLimit(-1), before)
	}
	os.Args = []string{"x.test", "-test.run", "X"}
	if Limit(); debug.SetMemoryLimit(-1) != 256<<20 || debug.SetGCPercent(100) != -1 {
		t.Errorf("tests: got a limit of %d bytes, want 256 MiB and no other collections", debug.SetMemoryLimit(-1))
	}
}
