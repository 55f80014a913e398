package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

// longformer returns attention whose pairs with a global token have their own projections.
func longformer[T hand.Number](p Place[T]) hand.Layer[T] {
	c, drop, n := p.plan, p.Site.Drop("attn_dropout"), p.side.context
	layer := p.Site.Longformer(c.Batch, c.Heads, c.Heads*c.QK, p.rotary(), func(b, h int) hand.LongformerMask {
		m := c.windows(n, h)
		// The library's mask goes key by key: the window's entry, then the global one.
		if own := drop.Head(b, h, c.Heads, n).Mask; !own.None() {
			m.Drop = hand.Zeros[float64](n, 2*n)
			for j, v := range own.Data {
				row, key := j/(2*n), j%(2*n)
				m.Drop.Data[row*2*n+key%2*n+key/2] = v
			}
		}
		return m
	})
	layer.Heads.Cap = c.Cap
	return layer
}
