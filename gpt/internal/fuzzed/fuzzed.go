// Package fuzzed contains helpers for the fuzz targets of all parsers.
package fuzzed

import (
	"runtime"
	"testing"
)

// Limits of a parser's allocations: PerByte bytes for each byte of its input, which is generous for tokens, maps and
// errors with their stack, and Fixed bytes for its own tables.
const (
	PerByte = 256
	Fixed   = 1 << 20
)

// Bounded calls parse, and fails if it allocates more than an input of n bytes justifies: a parser must not allocate a
// size that a file merely claims. No other goroutine may run meanwhile.
func Bounded(t *testing.T, n int, parse func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	parse()
	runtime.ReadMemStats(&after)
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(Fixed+PerByte*n); got > most {
		t.Errorf("an input of %d bytes made it allocate %d, want at most %d", n, got, most)
	}
}
