package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// unprojected returns Cases of attention without projections.
func unprojected() []verify.Entry {
	const sources = fixture.Tokens + 1
	lengths := lengths().Lengths
	return []verify.Entry{{
		ID: "I11", What: "a head of attention, and the unprojected forms", Source: "Boué (4)–(33), Xu (2)–(9)",
		Cases: []verify.Case{
			selfAttention{name: "a single head", source: "Boué (4)–(18), (22)–(33)", count: 1, sight: causal()}.Case(),
			byHand(verify.Case{
				Name: "attention without projections", Types: []string{"Unprojected"}, Source: "Xu (4)–(6)",
				Build: func(at nn.Site, x graph.Expr) graph.Expr { return nn.NewUnprojected(at).Forward(x) },
			}, toThemselves[float64], toThemselves[complex128]),
			byHand(verify.Case{
				Name: "cross-attention without projections", Types: []string{"UnprojectedCross"},
				Source: "Conti 1.2.5, erratum C14",
				Build: func(at nn.Site, x graph.Expr) graph.Expr {
					return nn.NewUnprojectedCross(at, remember(at, sources, lengths)).Forward(x)
				},
			}, toSources[float64](sources, lengths), toSources[complex128](sources, lengths)),
		},
	}}
}

func toThemselves[T hand.Number](at hand.Site[T]) hand.Layer[T] {
	return hand.Unprojected[T]{Heads: softmax(at, fixture.Heads, causal().mask)}
}

func toSources[T hand.Number](sources int, lengths []int) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		return hand.Unprojected[T]{Z: at.Param(memory), Heads: softmax(at, fixture.Heads, func(b, _ int) matrix {
			return hand.SourceMask(fixture.Tokens, sources, lengths[b])
		})}
	}
}
