package cases

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func blocks() []verify.Entry {
	pre := func(at nn.Site) nn.Layer { return nn.NewBlock(at, libraryAttention) }
	post := func(at nn.Site) nn.Layer { return nn.NewPostNormBlock(at, libraryAttention) }
	return []verify.Entry{{
		ID: "I25", What: "residual blocks, pre-norm and post-norm", Source: "CS 224n (29)–(31), Conti (3)",
		Cases: append(
			part("block=pre", block("block", "Block", "Boué table 2, a₂ to a₁₀",
				pre, preNorm[float64], preNorm[complex128])),
			part("block=post", block("post-norm block", "PostNormBlock", "Vaswani et al. 2017",
				post, postNorm[float64], postNorm[complex128]))...,
		),
	}}
}

func libraryAttention(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }

func block(name, kind, source string, library func(nn.Site) nn.Layer,
	real layer[float64], step layer[complex128]) verify.Case {
	return byHand(verify.Case{
		Name: name, Types: []string{kind}, Source: source,
		Layer: func(at nn.Site) nn.Layer { return library(at.At("h.0")) },
	}, real, step)
}

func preNorm[T hand.Number](at hand.Site[T]) hand.Layer[T] {
	return sequence[T]{{"h.0", sublayers(at.At("h.0"), hand.Site[T].LayerNorm, causal().mask)}}
}

func postNorm[T hand.Number](at hand.Site[T]) hand.Layer[T] {
	return sequence[T]{{"h.0", hand.PostNormBlock[T](sublayers(at.At("h.0"), hand.Site[T].LayerNorm, causal().mask))}}
}

// sublayers returns the sublayers of a block, without dropout.
func sublayers[T hand.Number](at hand.Site[T], norm layer[T], mask func(b, h int) matrix) hand.Block[T] {
	return hand.Block[T]{
		Norm1:     norm(at.At("ln_1")),
		Attention: at.At("attn").SelfAttention(softmax(at, fixture.Heads, mask), fixture.Heads*fixture.QK, nil),
		Norm2:     norm(at.At("ln_2")),
		MLP:       at.At("mlp").MLP(hand.GELU[T]{}),
	}
}
