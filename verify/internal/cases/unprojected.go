package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// unprojected returns Cases of attention without projections.
func unprojected[T hand.Number](n fixture.Sizes) []entry[T] {
	sources, lengths := n.Tokens+1, lengths(n).Lengths
	what := "a head of attention, and the unprojected forms"
	return []entry[T]{{
		verify.Entry{ID: "I11", What: what, Source: "Boué (4)–(33), Xu (2)–(9)"},
		[]formula[T]{
			self[T](n, selfAttention{
				name: "a single head", source: "Boué (4)–(18), (22)–(33)", count: 1, sight: causal(n),
			}),
			{verify.Case{
				Name: "attention without projections", Types: []string{"Unprojected"}, Source: "Xu (4)–(6)",
				Build: func(at nn.Site, x graph.Expr) graph.Expr { return nn.NewUnprojected(at).Forward(x) },
			}, toThemselves[T](n)},
			{verify.Case{
				Name: "cross-attention without projections", Types: []string{"UnprojectedCross"},
				Source: "Conti 1.2.5, erratum C14",
				Build: func(at nn.Site, x graph.Expr) graph.Expr {
					return nn.NewUnprojectedCross(at, remember(at, sources, lengths)).Forward(x)
				},
			}, toSources[T](n, sources, lengths)},
		},
	}}
}

func toThemselves[T hand.Number](n fixture.Sizes) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		return hand.Unprojected[T]{Heads: softmax(n, at, causal(n).mask)}
	}
}

func toSources[T hand.Number](n fixture.Sizes, sources int, lengths []int) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		return hand.Unprojected[T]{Z: at.Param(memory), Heads: softmax(n, at, func(b, _ int) matrix {
			return hand.SourceMask(n.Tokens, sources, lengths[b])
		})}
	}
}
