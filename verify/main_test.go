package verify

import (
	"os"
	"runtime/debug"
	"testing"
)

// The formulas by hand create many small matrices and keep few of them. The heap is collected only when it reaches
// 256 MiB, which takes a fifth less time than at five times of what is kept.
func TestMain(m *testing.M) {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(256 << 20)
	os.Exit(m.Run())
}
