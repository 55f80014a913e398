package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func positions[T hand.Number](n fixture.Sizes) []entry[T] {
	return []entry[T]{
		{
			verify.Entry{ID: "I05", What: "learned positions", Source: "Boué (2), (3), CS 224n (12)"},
			[]formula[T]{{verify.Case{
				Name: "learned positions", Types: []string{"LearnedPositions"},
				Source: "Boué (2), (3); Diab (1), (38), erratum D11",
				Build: func(at nn.Site, x graph.Expr) graph.Expr {
					return nn.NewLearnedPositions(placed(n, at, n.Positions).At("wpe")).Forward(x)
				},
			}, learned[T](n)}},
		},
		{
			verify.Entry{
				ID: "I06", What: "sinusoidal positions, embeddings scaled by √d", Source: "Conti (1), erratum C4",
			},
			[]formula[T]{{verify.Case{
				Name: "sinusoidal positions", Types: []string{"Sinusoidal"}, Source: "Conti (1), (2), erratum C4",
				Build: func(at nn.Site, x graph.Expr) graph.Expr {
					return nn.NewSinusoidal(placed(n, at, n.Positions), base).Forward(x)
				},
			}, waves[T](n)}},
		},
	}
}

const base = 50 // of the frequencies

// places returns the positions of the tokens. The number of positions may exceed the number of tokens.
func places(n fixture.Sizes) []int { return hand.Positions(n.Batch, n.Tokens) }

// placed returns the site with the positions of the tokens.
func placed(n fixture.Sizes, at nn.Site, limit int) nn.Site {
	at.Context = limit
	at.Positions = declare(at, "positions", limit, -1, places(n))
	return at
}

func learned[T hand.Number](n fixture.Sizes) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		weight := at.At("wpe").Param("weight")
		return sequence[T]{{"wpe", hand.LearnedPositions[T]{Weight: weight, Positions: places(n)}}}
	}
}

func waves[T hand.Number](n fixture.Sizes) layer[T] {
	return fixed[T](hand.Sinusoidal[T]{
		Waves: hand.Sinusoids(n.Positions, n.Features, base), Positions: places(n),
	})
}
