package parts

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

func norms[T hand.Number]() map[string]func(hand.Site[T]) hand.Layer[T] {
	return map[string]func(hand.Site[T]) hand.Layer[T]{
		"layernorm":       hand.Site[T].LayerNorm,
		"layernorm_sigma": hand.Site[T].LayerNormSigma,
		"layernorm_plain": hand.Site[T].LayerNormPlain,
		"rmsnorm":         hand.Site[T].RMSNorm,
	}
}

func activations[T hand.Number]() map[string]hand.Layer[T] {
	return map[string]hand.Layer[T]{
		"gelu": hand.GELU[T]{}, "gelu_tanh": hand.GELUTanh[T]{}, "relu": hand.ReLU[T]{},
		"sigmoid": hand.Sigmoid[T]{}, "silu": hand.SiLU[T]{}, "softplus": hand.Softplus[T]{},
	}
}

// mlps returns the layers after the attention of a block, given the activation.
func mlps[T hand.Number]() map[string]func(at hand.Site[T], act hand.Layer[T]) hand.Layer[T] {
	return map[string]func(at hand.Site[T], act hand.Layer[T]) hand.Layer[T]{
		"mlp":    hand.Site[T].MLP,
		"swiglu": func(at hand.Site[T], _ hand.Layer[T]) hand.Layer[T] { return at.SwiGLU() },
	}
}

func heads[T hand.Number]() map[string]func(hand.Site[T]) hand.Layer[T] {
	return map[string]func(hand.Site[T]) hand.Layer[T]{
		"linear": func(at hand.Site[T]) hand.Layer[T] { return at.At("lm_head").Linear() },
		"tied":   func(at hand.Site[T]) hand.Layer[T] { return hand.Tied[T]{Embedding: at.At("wte").Param("weight")} },
	}
}

// positions returns the layers that are applied to the embedded tokens. Other positions rotate queries and keys, or are
// part of the mask.
func positions[T hand.Number]() map[string]func(at hand.Site[T], c Plan, s side) hand.Layer[T] {
	none := func(hand.Site[T], Plan, side) hand.Layer[T] { return nil }
	return map[string]func(at hand.Site[T], c Plan, s side) hand.Layer[T]{
		"learned": func(at hand.Site[T], c Plan, s side) hand.Layer[T] {
			weight := at.At("wpe").Param("weight")
			return hand.LearnedPositions[T]{Weight: weight, Positions: hand.Positions(c.Batch, s.context)}
		},
		"sinusoidal": func(at hand.Site[T], c Plan, s side) hand.Layer[T] {
			waves := hand.Sinusoids(s.context, at.At("wte").Param("weight").Cols, 10000)
			return hand.Sinusoidal[T]{Waves: waves, Positions: hand.Positions(c.Batch, s.context)}
		},
		"rope": none, "alibi": none, "none": none,
	}
}

// block is the arrangement of the layers in a block.
type block[T hand.Number] struct {
	at    func(at hand.Site[T], c Plan, s side, i int, z hand.Matrix[T]) hand.Layer[T]
	final bool // a stack of these blocks ends with a norm
}

func blocks[T hand.Number]() map[string]block[T] {
	return map[string]block[T]{
		"pre": {final: true, at: func(at hand.Site[T], c Plan, s side, i int, z hand.Matrix[T]) hand.Layer[T] {
			if s.cross {
				return decoderBlock(at, c, s, i, z)
			}
			return sublayers(at, c, s, i)
		}},
		"post": {at: func(at hand.Site[T], c Plan, s side, i int, z hand.Matrix[T]) hand.Layer[T] {
			if s.cross {
				return hand.PostNormDecoderBlock[T](decoderBlock(at, c, s, i, z))
			}
			return hand.PostNormBlock[T](sublayers(at, c, s, i))
		}},
		"elman": {at: func(at hand.Site[T], c Plan, _ side, _ int, _ hand.Matrix[T]) hand.Layer[T] {
			return at.Elman(c.Batch)
		}},
	}
}

func sublayers[T hand.Number](at hand.Site[T], c Plan, s side, i int) hand.Block[T] {
	norm := norms[T]()[c.Norm]
	return hand.Block[T]{
		Norm1:     norm(at.At("ln_1")),
		Attention: attentions[T]()[s.attention](at.At("attn"), c, s, i),
		Norm2:     norm(at.At("ln_2")),
		MLP:       mlps[T]()[cmp.Or(c.MLP, "mlp")](at.At("mlp"), activations[T]()[c.Activation]),
	}
}

func decoderBlock[T hand.Number](at hand.Site[T], c Plan, s side, i int, z hand.Matrix[T]) hand.DecoderBlock[T] {
	b, norm := sublayers(at, c, s, i), norms[T]()[c.Norm](at.At("ln_cross"))
	return hand.DecoderBlock[T]{
		Norm1: b.Norm1, Attention: b.Attention, NormCross: norm, Cross: cross(at, c, z), Norm2: b.Norm2, MLP: b.MLP,
	}
}

// cross returns attention to the encoder's output without its padding.
func cross[T hand.Number](at hand.Site[T], c Plan, z hand.Matrix[T]) hand.Layer[T] {
	at = at.At("cross")
	drop := at.Drop("attn_dropout")
	return at.CrossAttention(hand.Heads[T]{Batch: c.Batch, Count: c.Heads, Head: func(b, h int) hand.Head[T] {
		mask := hand.SourceMask(c.Context, c.Encoder.Context, c.Encoder.Lengths[b])
		return hand.Attention[T]{Mask: mask, Drop: drop.Head(b, h, c.Heads, c.Context)}
	}}, c.Heads*c.QK, z)
}
