// Package heap sets when the heap of a test binary is collected.
package heap

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// Limit collects the heap only when it reaches 256 MiB. Tests build many small graphs and matrices and keep few of
// them, so that this saves time. Limit changes nothing if benchmarks run: they may keep more than 256 MiB, and would
// then collect all the time.
func Limit() {
	if slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasPrefix(arg, "-test.bench") }) {
		return
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(256 << 20)
}
