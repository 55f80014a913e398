package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

func forgetting[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "forgetting", Type: "ForgettingAttention", Hand: forgettingAttention[T],
		ID: "I94", What: "attention that forgets", Source: "Lin et al. 2025",
		Settings: []Setting{
			{Name: "attention that forgets"},
			{Name: "attention that forgets, with rotary positions", QK: 4, Position: "rope"},
			{Name: "attention that forgets, with alibi and without biases", Position: "alibi", NoBias: true},
			{Name: "attention that forgets, with dropout", Dropout: 0.3},
		},
	}
}

func forgettingAttention[T hand.Number](p Place[T]) hand.Layer[T] {
	c, drop := p.plan, p.Site.Drop("attn_dropout")
	return p.project(hand.Heads[T]{Batch: c.Batch, Count: c.Heads, Head: func(b, h int) hand.Head[T] {
		return hand.ForgettingAttention[T]{
			Mask: p.mask(causal, b, h), Drop: drop.Head(b, h, c.Heads, p.side.context),
		}
	}})
}
