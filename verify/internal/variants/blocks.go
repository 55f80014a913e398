package variants

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// blocks lists the arrangements of the layers in a block.
func blocks[T hand.Number]() []Variant[T] {
	return []Variant[T]{
		{
			Name: "pre", Type: "Block", Hand: preNorm[T], Final: true,
			ID: "I25", What: "residual blocks, pre-norm and post-norm", Source: "CS 224n (29)–(31), Conti (3)",
			Settings: []Setting{{Name: "block", Source: "Boué table 2, a₂ to a₁₀"}},
			By:       []string{"I23"},
		},
		{
			Name: "post", Type: "PostNormBlock", Hand: postNorm[T],
			ID: "I25", Settings: []Setting{{Name: "post-norm block", Source: "Vaswani et al. 2017"}},
			By: []string{"I23", "I31"},
		},
		{
			Name: "sandwich", Type: "SandwichBlock", Hand: sandwich[T], Final: true,
			ID: "I25", Settings: []Setting{{Name: "block with norms before and after", Source: "Gemma Team 2024"}},
			By: []string{"I23"},
		},
		{
			Name: "post_part", Type: "PostPartBlock", Final: true,
			Hand: func(p Place[T]) hand.Layer[T] { return hand.PostPartBlock[T](sublayers(p)) },
			ID:   "I25", Settings: []Setting{{Name: "block with norms of its results", Source: "OLMo Team 2024"}},
			By: []string{"I23"},
		},
		{
			Name: "parallel", Type: "ParallelBlock", Hand: parallel[T], Final: true,
			ID: "I25", Settings: []Setting{{Name: "parallel block", Source: "Wang and Komatsuzaki 2021"}},
			By: []string{"I23"},
		},
		{
			Name: "parallel_two", Type: "ParallelTwoBlock", Final: true,
			Hand: func(p Place[T]) hand.Layer[T] { return hand.ParallelTwoBlock[T](sublayers(p)) },
			ID:   "I25", Settings: []Setting{{Name: "parallel block with two norms", Source: "Black et al. 2022"}},
			By: []string{"I23"},
		},
		{
			Name: "elman", Type: "Elman", ID: "I33", // its Cases are in verify/internal/cases
			Hand: func(p Place[T]) hand.Layer[T] { return p.Site.Elman(p.plan.Batch) },
		},
	}
}

func preNorm[T hand.Number](p Place[T]) hand.Layer[T] {
	if p.side.cross {
		return decoderBlock(p)
	}
	return sublayers(p)
}

func postNorm[T hand.Number](p Place[T]) hand.Layer[T] {
	if p.side.cross {
		return hand.PostNormDecoderBlock[T](decoderBlock(p))
	}
	return hand.PostNormBlock[T](sublayers(p))
}

func sandwich[T hand.Number](p Place[T]) hand.Layer[T] {
	b, norm := sublayers(p), p.variant("norm", p.plan.Norm).Hand
	return hand.SandwichBlock[T]{
		Norm1: b.Norm1, Attention: b.Attention, Post1: norm(p.At("ln_1_post")),
		Norm2: b.Norm2, MLP: b.MLP, Post2: norm(p.At("ln_2_post")), Stream: b.Stream,
	}
}

func parallel[T hand.Number](p Place[T]) hand.Layer[T] {
	return hand.ParallelBlock[T]{
		Norm:      p.At("ln_1").layer("norm", p.plan.Norm),
		Attention: p.At("attn").sublayer("attention", p.side.attention),
		MLP:       p.At("mlp").sublayer("mlp", cmp.Or(p.plan.MLP, "mlp")),
		Stream:    p.connections(),
	}
}

func sublayers[T hand.Number](p Place[T]) hand.Block[T] {
	norm := p.variant("norm", p.plan.Norm).Hand
	return hand.Block[T]{
		Norm1:     norm(p.At("ln_1")),
		Attention: p.At("attn").sublayer("attention", p.side.attention),
		Norm2:     norm(p.At("ln_2")),
		MLP:       p.At("mlp").sublayer("mlp", cmp.Or(p.plan.MLP, "mlp")),
		Stream:    p.connections(),
	}
}

// sublayer returns the attention or MLP of a block, with its short convolution and its factor.
func (p Place[T]) sublayer(kind, name string) hand.Layer[T] {
	return p.Site.AfterConv(scaled(p.layer(kind, name), 1, p.plan.Branch))
}

func decoderBlock[T hand.Number](p Place[T]) hand.DecoderBlock[T] {
	b, norm := sublayers(p), p.At("ln_cross").layer("norm", p.plan.Norm)
	return hand.DecoderBlock[T]{
		Norm1: b.Norm1, Attention: b.Attention, NormCross: norm, Cross: cross(p.At("cross")),
		Norm2: b.Norm2, MLP: b.MLP, Stream: b.Stream,
	}
}

// cross returns attention to the encoder's output without its padding.
func cross[T hand.Number](p Place[T]) hand.Layer[T] {
	c, drop := p.plan, p.Site.Drop("attn_dropout")
	return p.Site.CrossAttention(hand.Heads[T]{Batch: c.Batch, Count: c.Heads, Head: func(b, h int) hand.Head[T] {
		mask := hand.SourceMask(c.Context, c.Encoder.Context, c.Encoder.Lengths[b])
		return hand.Attention[T]{Mask: mask, Drop: drop.Head(b, h, c.Heads, c.Context)}
	}}, c.Heads*c.QK, p.memory)
}
