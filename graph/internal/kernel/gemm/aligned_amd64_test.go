//go:build amd64 && !nosimd

package gemm

import (
	"testing"
	"unsafe"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// TestPanelsBeginLines: panels begin a cache line, so that their rows of one or two vectors never lie across two.
func TestPanelsBeginLines(t *testing.T) {
	for range 100 {
		p := panels.New().(*panel)
		for _, at := range []*float32{&p.b[0], &p.a[0], &p.square[0]} {
			if off := uintptr(unsafe.Pointer(at)) % kernel.Line; off != 0 {
				t.Fatalf("a part of a panel begins %d bytes after the start of a line", off)
			}
		}
	}
}
