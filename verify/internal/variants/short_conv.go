package variants

import (
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// shortConvs lists the sets of short convolutions in a block. The layers by hand have those that are among their
// parameters.
func shortConvs[T hand.Number]() []Variant[T] {
	block := func(p Place[T]) hand.Layer[T] { return p.layer("block", p.plan.Block) }
	canon := func(name string, settings ...Setting) Variant[T] {
		return Variant[T]{
			Name: name, Type: "Canon", Hand: block,
			ID: "I93", What: "short convolutions", Source: "Allen-Zhu 2025", Settings: settings,
		}
	}
	return []Variant[T]{
		{Name: none, Hand: block},
		canon("canon_a", Setting{Name: "block with a convolution before attention"}),
		canon("canon_b", Setting{Name: "block with a convolution of queries, keys and values", NoBias: true}),
		canon("canon_c", Setting{Name: "block with a convolution before the mlp"}),
		canon("canon_d", Setting{Name: "block with a convolution in the mlp", NoBias: true}),
		canon("canon_ac", Setting{Name: "block with convolutions before attention and mlp", Dropout: 0.3}),
		canon("canon_abcd", Setting{Name: "block with four convolutions and a gated mlp", MLP: "swiglu"}),
		{
			Name: "qkv", Type: "ShortConv", Hand: block, ID: "I93", Source: "So et al. 2021",
			Settings: []Setting{{Name: "block whose queries, keys and values are convolutions"}},
		},
	}
}

// convolution returns the short convolution of the plan by its parameter.
func (p Place[T]) convolution() func(weight hand.Matrix[T]) hand.Layer[T] {
	return func(weight hand.Matrix[T]) hand.Layer[T] {
		c := hand.ShortConv[T]{Weight: weight, Length: p.side.context}
		if strings.HasPrefix(p.plan.With["short_conv"], "canon") {
			return hand.Residual[T]{Layer: c}
		}
		return c
	}
}

// valueResiduals lists what later blocks take of the values of the first. A Case has two attentions one after the
// other, which are not a layer of a block: see verify/internal/cases.
func valueResiduals[T hand.Number]() []Variant[T] {
	attention := func(p Place[T]) hand.Layer[T] { return p.layer("attention", p.plan.Attention) }
	return []Variant[T]{
		{Name: none, Hand: attention},
		{Name: "learned", Hand: attention, ID: "I92", By: []string{"I92"}},
	}
}

// firstValues returns what the blocks of a model with a value residual share, or nil without.
func (p Place[T]) firstValues() *hand.FirstValues[T] {
	if p.plan.With["value_residual"] != "learned" {
		return nil
	}
	return new(hand.FirstValues[T])
}

// skips lists what blocks take of earlier places of the residual stream. A Case has linear layers in place of blocks,
// which are not one layer: see verify/internal/cases.
func skips[T hand.Number]() []Variant[T] {
	block := func(p Place[T]) hand.Layer[T] { return p.layer("block", p.plan.Block) }
	list := []Variant[T]{{Name: none, Hand: block}}
	for _, name := range []string{"embedding", "unet"} {
		list = append(list, Variant[T]{
			Name: name, Hand: block, Stream: Place[T].skipped, ID: "I97", By: []string{"I97"},
		})
	}
	return list
}

// skipped returns the stream with the skips before the blocks of the model.
func (p Place[T]) skipped() (s hand.Stream[T]) {
	for i := range p.plan.Layers {
		name := fmt.Sprintf("h.%d", i)
		place := fmt.Sprintf("x_%d", i) // the embeddings for block 0, the result of block i−1
		c := hand.Chain[T]{hand.Keep[T]("x", place)}
		if lambda := p.At(name).Site.Optional("skip_lambda"); !lambda.None() {
			from := "x_0"
			if p.plan.With["skips"] == "unet" {
				from = fmt.Sprintf("x_%d", p.plan.Layers-i) // the result of block L−1−i
			}
			c = append(c, hand.Skip[T]{Name: name, Lambda: lambda, From: from})
		}
		s.Skips = append(s.Skips, c)
	}
	return s
}
