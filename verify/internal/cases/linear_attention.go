package cases

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func linearAttentions() []verify.Entry {
	elu := features{
		"LinearAttention", "Conti (15)–(17)", func(at nn.Site) nn.Layer { return nn.NewLinearAttention(at) },
		hand.EluPlusOne[float64]{}, hand.EluPlusOne[complex128]{},
	}
	taylor := features{
		"TaylorAttention", "Conti 2.1.2, errata C5", func(at nn.Site) nn.Layer { return nn.NewTaylorAttention(at) },
		hand.TaylorFeatures[float64]{Eps: 1e-5}, hand.TaylorFeatures[complex128]{Eps: 1e-5},
	}
	return []verify.Entry{
		{ID: "I45", What: "linear attention", Source: "Conti (15)–(17)", Cases: part("attention=linear",
			elu.on("linear attention", causal(), 0),
			elu.on("linear attention without a mask", unmasked(), 0),
			elu.on("linear attention with padding", padding(), 0),
			elu.on("causal linear attention with padding", causalPadding(), 0),
			elu.on("linear attention with dropout", causal(), probability),
		)},
		{ID: "I46", What: "first-order Taylor attention", Source: "Conti section 2.1.2, erratum C5", Cases: part(
			"attention=taylor",
			taylor.on("taylor attention", causal(), 0),
			taylor.on("taylor attention without a mask", unmasked(), 0),
			taylor.on("taylor attention with padding", padding(), 0),
			taylor.on("causal taylor attention with padding", causalPadding(), 0),
		)},
	}
}

// features describes a linear attention by its features.
type features struct {
	kind, source string
	library      func(at nn.Site) nn.Layer
	real         hand.Layer[float64]
	step         hand.Layer[complex128]
}

func (f features) on(name string, s sight, dropout float64) verify.Case {
	c := verify.Case{Name: name, Types: []string{f.kind}, Source: f.source}
	c = s.built(c, func(at nn.Site) nn.Layer {
		at.Dropout, at.Mask = dropout, s.see(at.Sub("own"), at.Dims)
		return f.library(at.At("attn"))
	})
	return byHand(c, weighing(f.real, s, dropout), weighing(f.step, s, dropout))
}

func weighing[T hand.Number](phi hand.Layer[T], s sight, dropout float64) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		at = drawing(at, dropout, fixture.Heads, 0)
		head := func(b, h int) hand.Head[T] {
			return hand.LinearAttention[T]{Features: phi, See: s.mask(b, h).Exp()}
		}
		return attending(at, hand.Heads[T]{Batch: fixture.Batch, Count: fixture.Heads, Head: head})
	}
}
