package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

func sigmoid[T hand.Number]() Variant[T] {
	return Variant[T]{
		Name: "sigmoid", Type: "SigmoidAttention", Hand: sigmoidAttention[T],
		ID: "I68", What: "attention by sigmoids of the scores", Source: "Ramapuram et al. 2024",
		Settings: []Setting{
			{Name: "sigmoid attention"},
			{Name: "sigmoid attention without a mask", Sight: All},
			{Name: "causal sigmoid attention with padding", Sight: CausalPadded},
			{Name: "sigmoid attention with alibi", Position: "alibi"},
			{Name: "sigmoid attention with dropout", Dropout: 0.3},
		},
	}
}

func sigmoidAttention[T hand.Number](p Place[T]) hand.Layer[T] {
	c, drop := p.plan, p.Site.Drop("attn_dropout")
	return p.project(hand.Heads[T]{Batch: c.Batch, Count: c.Heads, Head: func(b, h int) hand.Head[T] {
		return hand.SigmoidAttention[T]{Mask: p.mask(causal, b, h), Drop: drop.Head(b, h, c.Heads, p.side.context)}
	}})
}
