// Package fuzzed contains helpers for the fuzz targets of all parsers.
package fuzzed

import (
	"runtime"
	"testing"
	"time"
)

// Limits of a parser's allocations: PerByte bytes for each byte of its input, which is generous for tokens, maps and
// errors with their stack, and Fixed bytes for its own tables.
const (
	PerByte = 256
	Fixed   = 1 << 20
)

// Linear returns the number of bytes that a parser may allocate for an input of n bytes.
func Linear(n int) int { return Fixed + PerByte*n }

// Bounded calls do, and fails if it allocates more bytes or takes more time than stated. A parser must not allocate a
// size that a file merely claims, and must not take quadratic time. The time is the wall clock's, so that it must leave
// room for other programs. No other goroutine may run meanwhile.
func Bounded(t *testing.T, bytes int, within time.Duration, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	do()
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > uint64(bytes) {
		t.Errorf("got %d bytes allocated, want at most %d", got, bytes)
	}
	if took > within {
		t.Errorf("took %v, want at most %v", took, within)
	}
}
