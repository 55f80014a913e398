// Package fuzzed is what the fuzz targets of all parsers share.
package fuzzed

import (
	"runtime"
	"testing"
)

// What a parser may allocate: so many bytes for each of its input, which is generous for tokens, maps and errors with
// their stack, and so many for tables of its own.
const (
	PerByte = 256
	Fixed   = 1 << 20
)

// Bounded calls parse, and fails if it allocates more than an input of n bytes accounts for: what a file merely claims
// is not to be allocated. Nothing else may run meanwhile.
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
