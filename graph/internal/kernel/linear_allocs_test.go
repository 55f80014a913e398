//go:build !race

// The race detector allocates by itself.

package kernel

import "testing"

// TestLinearStepAllocatesNothing: a token that is decoded.
func TestLinearStepAllocatesNothing(t *testing.T) {
	s := linearSize{1, 1, 4, 32, 32}
	for _, threads := range []int{1, 2} {
		p, l := NewPool(threads), linearOf[float32](s, true, "elu")
		x, y, total := make([]float32, s.heads*96), make([]float32, s.heads*32), make([]float32, s.heads)
		state, scratch := make([]float32, l.StateLen()), make([]float32, l.ScratchLen(p))
		if n := testing.AllocsPerRun(50, func() { l.Forward(p, y, total, x, nil, state, scratch) }); n != 0 {
			t.Errorf("%d threads: %v allocations", threads, n)
		}
	}
}
