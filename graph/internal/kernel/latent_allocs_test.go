//go:build !race

package kernel

import "testing"

// TestLatentAttentionAllocatesNothing, nor do rotations.
func TestLatentAttentionAllocatesNothing(t *testing.T) {
	h := LatentHeads{Batch: 1, Context: 128, Heads: 16, QK: 32, V: 32, Latent: 64, Rotary: 16}
	cos, sin := rotaryTables[float32](h.Context, 32)
	for _, threads := range []int{1, 2} {
		p, cache := NewPool(threads), NewLatentCache[float32](h)
		c := newLatentCase[float32](h, 127, 1)
		y, q, latent := make([]float32, h.Heads*h.V), c.rows(c.q, h.Heads*(h.QK+h.Rotary), 127, 128), c.rows(c.latent, h.Width(), 127, 128)
		rows := make([]int, 4*grain/32)
		x, turned := make([]float32, len(rows)*32), make([]float32, len(rows)*32)
		turn := &Rotation[float32]{Positions: rows, Groups: 1, Size: 32}
		for name, f := range map[string]func(){
			"attention of a token": func() { cache.Attend(p, y, q, latent, c.upK, c.upV, c.mask, 127) },
			"rotation":             func() { turn.Run(p, turned, x, cos, sin) },
		} {
			if n := testing.AllocsPerRun(50, f); n != 0 {
				t.Errorf("%d threads, %s: %v allocations", threads, name, n)
			}
		}
	}
}
