package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// pairs returns the Cases of an encoder and of decoders.
func pairs[T hand.Number](n fixture.Sizes) []entry[T] {
	return []entry[T]{
		{
			verify.Entry{
				ID: "I31", What: "encoder with a masked-token head", Source: "Conti (3), CS 224n section 3.5",
				Tests: []string{"TestI31Masked", "TestI31EncoderIsEquivariant"},
			},
			[]formula[T]{{verify.Case{
				Name:   "encoder with padding and a head for what is hidden",
				Types:  []string{"PostNormBlock", "LayerNormSigma"},
				Source: "Conti (3), CS 224n section 3.5; errata C3, D3b", Build: buildEncoder(n), Bidirectional: true,
			}, encoder[T](n)}},
		},
		{
			verify.Entry{
				ID: "I32", What: "encoder and decoder", Source: "Conti chapter 1, CS 224n section 3.7",
				Tests: []string{"TestI32EncoderDecoder", "TestI32PaddingIsInvisible", "TestI32FutureIsInvisible"},
			},
			[]formula[T]{
				{verify.Case{
					Name: "decoder", Types: []string{"DecoderBlock", "CrossAttention"},
					Source: "Conti chapter 1, CS 224n section 3.7; erratum C3", Build: buildDecoder(n),
				}, decoder[T](n)},
				{verify.Case{
					Name: "post-norm decoder, ε beside σ", Types: []string{"PostNormDecoderBlock", "CrossAttention"},
					Source: "Conti chapter 1, CS 224n section 3.7; erratum C3", Build: buildPostNormDecoder(n),
				}, postNormDecoder[T](n)},
			},
		},
	}
}

func buildDecoder(n fixture.Sizes) func(at nn.Site, x graph.Expr) graph.Expr {
	return func(at nn.Site, x graph.Expr) graph.Expr {
		z := remember(at, sourceTokens(n), sourceLengths(n))
		x = nn.NewDecoderBlock(at.At("decoder.h.0"), libraryAttention, z).Forward(x)
		return nn.NewLayerNorm(at.At("decoder.ln_f")).Forward(x)
	}
}

func buildPostNormDecoder(n fixture.Sizes) func(at nn.Site, x graph.Expr) graph.Expr {
	return func(at nn.Site, x graph.Expr) graph.Expr {
		at.Norm = func(at nn.Site) nn.Layer { return nn.NewLayerNormSigma(at) }
		z := remember(at, sourceTokens(n), sourceLengths(n))
		return nn.NewPostNormDecoderBlock(at.At("decoder.h.0"), libraryAttention, z).Forward(x)
	}
}

// buildEncoder returns a post-norm block without a causal mask, followed by the linear layer that predicts the words.
// The second text is padded.
func buildEncoder(n fixture.Sizes) func(at nn.Site, x graph.Expr) graph.Expr {
	return func(at nn.Site, x graph.Expr) graph.Expr {
		at.Mask = nn.NewMask(at.Sub("padding"), at.Dims, lengths(n))
		at.Norm = func(at nn.Site) nn.Layer { return nn.NewLayerNormSigma(at) }
		x = nn.NewPostNormBlock(at.At("encoder.h.0"), libraryAttention).Forward(x)
		return nn.NewLinear(at.Sub("lm_head"), at.Embd, []int{n.Vocabulary}, true, graph.Const(0)).Forward(x)
	}
}

func encoder[T hand.Number](n fixture.Sizes) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		b := sublayers(n, at.At("encoder.h.0"), hand.Site[T].LayerNormSigma, padding(n).mask)
		return sequence[T]{{"encoder.h.0", hand.PostNormBlock[T](b)}, {"lm_head", at.At("lm_head").Linear()}}
	}
}

func decoder[T hand.Number](n fixture.Sizes) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		return sequence[T]{
			{"decoder.h.0", decoderBlock(n, at.At("decoder.h.0"), hand.Site[T].LayerNorm)},
			{"decoder.ln_f", at.At("decoder.ln_f").LayerNorm()},
		}
	}
}

func postNormDecoder[T hand.Number](n fixture.Sizes) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		b := decoderBlock(n, at.At("decoder.h.0"), hand.Site[T].LayerNormSigma)
		return sequence[T]{{"decoder.h.0", hand.PostNormDecoderBlock[T](b)}}
	}
}

// decoderBlock returns the parts of a decoder's block, whose tokens attend to earlier ones and then to a source.
func decoderBlock[T hand.Number](n fixture.Sizes, at hand.Site[T], norm layer[T]) hand.DecoderBlock[T] {
	b := sublayers(n, at, norm, causal(n).mask)
	return hand.DecoderBlock[T]{
		Norm1: b.Norm1, Attention: b.Attention,
		NormCross: norm(at.At("ln_cross")), Cross: toMemory(n, at.At("cross"), sourceLengths(n)),
		Norm2: b.Norm2, MLP: b.MLP,
	}
}
