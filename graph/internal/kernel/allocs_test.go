//go:build !race

package kernel

import "testing"

// TestLoopsAllocateNothing: what a kernel needs for its threads it keeps, so the garbage collector rests. (Under the race
// detector sync.Pool forgets on purpose.)
func TestLoopsAllocateNothing(t *testing.T) {
	h := self(2, 256, 4, 32, 32)
	for _, threads := range []int{1, 2} {
		p := NewPool(threads)
		cache := NewCache[float32](h)
		x, y := make([]float32, 1<<18), make([]float32, 1<<18)
		mask, z := Mask[float32]{make([]float32, h.Keys*h.Keys), 1, 1}, make([]float32, 1<<18)
		for name, f := range map[string]func(){
			"small product":         func() { Gemm(p, 1, 128, 128, 1, Mat(x, 128), Mat(y, 128), 0, Mat(z, 128)) },
			"product":               func() { Gemm(p, 256, 256, 256, 1, Mat(x, 256), Mat(y, 256), 0, Mat(z, 256)) },
			"row times a large one": func() { Gemm(p, 1, 512, 512, 1, Mat(x, 512), Mat(y, 512).T(), 0, Mat(z, 512)) },
			"few entries":           func() { GELU(p, z[:100], x[:100]) },
			"entries":               func() { GELU(p, z, x) },
			"sum":                   func() { Add(p, z, x, y) },
			"attention of a token":  func() { Attend(p, h, z[:2*128], x[:2*h.Width()], mask, cache, 255) },
		} {
			if n := testing.AllocsPerRun(50, f); n != 0 {
				t.Errorf("%d threads, %s: %v allocations", threads, name, n)
			}
		}
	}
}
