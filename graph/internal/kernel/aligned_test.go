package kernel

import (
	"testing"
	"unsafe"
)

// TestBuffersBeginLines: buffers of every size begin a cache line, since a vector across two lines costs two loads.
func TestBuffersBeginLines(t *testing.T) {
	for n := 1; n < 5000; n += 7 {
		x, y := Make[float32](n), Make[float64](n)
		if len(x) != n || len(y) != n {
			t.Fatalf("lengths %d and %d, want %d", len(x), len(y), n)
		}
		for _, at := range []uintptr{uintptr(unsafe.Pointer(&x[0])), uintptr(unsafe.Pointer(&y[0]))} {
			if at%Line != 0 {
				t.Fatalf("%d numbers begin %d bytes after the start of a line", n, at%Line)
			}
		}
	}
	if x := Make[float32](0); len(x) != 0 {
		t.Errorf("got %d numbers, want none", len(x))
	}
}
