package parts

import "github.com/pedestrian-ml/pedestrian/verify/hand"

// attention is a function that returns the attention of block i.
type attention[T hand.Number] func(at hand.Site[T], c Plan, s side, i int) hand.Layer[T]

func attentions[T hand.Number]() map[string]attention[T] {
	return map[string]attention[T]{
		"causal": selfAttention[T], "window": selfAttention[T], "alternating": selfAttention[T],
		"bigbird": selfAttention[T], "dilated": selfAttention[T], "full": selfAttention[T],
		"gqa": grouped[T], "gqa_bias": grouped[T],
		"linear":     features(func(hand.Site[T]) hand.Layer[T] { return hand.EluPlusOne[T]{} }),
		"taylor":     features(func(at hand.Site[T]) hand.Layer[T] { return hand.TaylorFeatures[T]{Eps: at.Eps} }),
		"longformer": longformer[T],
		"linformer": func(at hand.Site[T], c Plan, _ side, _ int) hand.Layer[T] {
			return at.Linformer(c.Batch, c.Heads, c.Heads*c.QK)
		},
		"mla": func(at hand.Site[T], c Plan, s side, i int) hand.Layer[T] { return at.MLA(softmax(at, c, s, i)) },
		"mla_rope": func(at hand.Site[T], c Plan, s side, i int) hand.Layer[T] {
			return at.MLARoPE(softmax(at, c, s, i), decoupled(at, c, s), false)
		},
		"mla_latent_rope": func(at hand.Site[T], c Plan, s side, i int) hand.Layer[T] {
			return at.MLARoPE(softmax(at, c, s, i), decoupled(at, c, s), true)
		},
	}
}

func selfAttention[T hand.Number](at hand.Site[T], c Plan, s side, i int) hand.Layer[T] {
	return at.SelfAttention(softmax(at, c, s, i), c.Heads*c.QK, rotary[T](c, s))
}

// grouped returns attention whose heads share keys and values. It has the biases that the parameters contain.
func grouped[T hand.Number](at hand.Site[T], c Plan, s side, i int) hand.Layer[T] {
	heads := softmax(at, c, s, i)
	heads.Groups = c.option("n_kv_head")
	return at.SelfAttention(heads, c.Heads*c.QK, rotary[T](c, s))
}

// softmax returns heads under the mask of the side.
func softmax[T hand.Number](at hand.Site[T], c Plan, s side, i int) hand.Heads[T] {
	drop := at.Drop("attn_dropout")
	return hand.Heads[T]{Batch: c.Batch, Count: c.Heads, Head: func(b, h int) hand.Head[T] {
		return hand.Attention[T]{Mask: c.mask(s, i, b, h), Drop: drop.Head(b, h, c.Heads, s.context)}
	}}
}

// features returns attention that is linear in products of features.
func features[T hand.Number](phi func(at hand.Site[T]) hand.Layer[T]) attention[T] {
	return func(at hand.Site[T], c Plan, s side, i int) hand.Layer[T] {
		heads := hand.Heads[T]{Batch: c.Batch, Count: c.Heads, Head: func(b, h int) hand.Head[T] {
			return hand.LinearAttention[T]{Features: phi(at), See: c.mask(s, i, b, h).Exp()}
		}}
		return at.SelfAttention(heads, c.Heads*c.QK, rotary[T](c, s))
	}
}

// rotary returns the rotation of queries and keys, or nil if the positions are not rotary.
func rotary[T hand.Number](c Plan, s side) hand.Layer[T] {
	if c.Position != "rope" {
		return nil
	}
	return hand.RoPE[T]{Positions: hand.Positions(c.Batch, s.context), Size: c.QK, Theta: c.Theta}
}

// decoupled returns the rotation of the rotating features of latent attention.
func decoupled[T hand.Number](at hand.Site[T], c Plan, s side) hand.Layer[T] {
	size := at.At("c_k_rope").Param("weight").Cols
	return hand.RoPE[T]{Positions: hand.Positions(c.Batch, s.context), Size: size, Theta: c.Theta}
}

func longformer[T hand.Number](at hand.Site[T], c Plan, s side, _ int) hand.Layer[T] {
	drop, n := at.Drop("attn_dropout"), s.context
	return at.Longformer(c.Batch, c.Heads, c.Heads*c.QK, rotary[T](c, s), func(b, h int) hand.LongformerMask {
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
}
