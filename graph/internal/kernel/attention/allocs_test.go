//go:build !race

// The race detector itself allocates.

package attention

import (
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// TestTokensAllocateNothing: decoding a token allocates nothing, with every cache and state.
func TestTokensAllocateNothing(t *testing.T) {
	full := self(2, 256, 4, 32, 32)
	narrow := LatentShape{Batch: 1, Context: 128, Heads: 16, QK: 32, V: 32, Latent: 64, Rotary: 16}
	x, y := kerneltest.Random[float32](rand.New(rand.NewPCG(1, 2)), 1<<18), make([]float32, 1<<18)
	mask := Mask[float32]{make([]float32, full.Keys*full.Keys), 1, 1, nil}
	for _, threads := range []int{1, 2} {
		p := kernel.NewPool(threads)
		cache, latents := NewKVCache[float32](full, Room{}), NewLatentCache[float32](narrow)
		c := newLatentCase[float32](narrow, 127, 1)
		latent := c.rows(c.latent, narrow.Width(), 127, 128)
		s := linearSize{1, 1, 4, 32, 32}
		l := linearOf[float32](s, true, "elu")
		total, state := make([]float32, s.heads), make([]float32, l.StateLen())
		scratch := make([]float32, l.ScratchLen(p))
		at, before := Together(255), Together(127)
		for name, f := range map[string]func(){
			"keys and values": func() { cache.Attend(p, y[:2*128], x[:2*full.Width()], mask, at) },
			"latents": func() {
				latents.Attend(
					p, y[:narrow.Heads*narrow.V], x[:narrow.Heads*(narrow.QK+narrow.Rotary)], latent, c.upK, c.upV,
					c.mask, before,
				)
			},
			"sums": func() { l.Forward(p, y[:s.heads*32], total, x[:s.heads*96], nil, state, scratch) },
		} {
			if n := testing.AllocsPerRun(50, f); n != 0 {
				t.Errorf("%d threads, %s: %v allocations", threads, name, n)
			}
		}
	}
}
