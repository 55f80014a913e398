package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func positions[T hand.Number]() []entry[T] {
	return []entry[T]{
		{
			verify.Entry{ID: "I05", What: "learned positions", Source: "Boué (2), (3), CS 224n (12)"},
			[]formula[T]{{verify.Case{
				Name: "learned positions", Types: []string{"LearnedPositions"},
				Source: "Boué (2), (3); Diab (1), (38), erratum D11",
				Build: func(at nn.Site, x graph.Expr) graph.Expr {
					return nn.NewLearnedPositions(placed(at, fixture.Positions).At("wpe")).Forward(x)
				},
			}, learned[T]}},
		},
		{
			verify.Entry{
				ID: "I06", What: "sinusoidal positions, embeddings scaled by √d", Source: "Conti (1), erratum C4",
			},
			[]formula[T]{{verify.Case{
				Name: "sinusoidal positions", Types: []string{"Sinusoidal"}, Source: "Conti (1), (2), erratum C4",
				Build: func(at nn.Site, x graph.Expr) graph.Expr {
					return nn.NewSinusoidal(placed(at, fixture.Positions), base).Forward(x)
				},
			}, waves[T]}},
		},
	}
}

const base = 50 // of the frequencies

// places returns the positions of the tokens. The number of positions may exceed the number of tokens.
func places() []int { return hand.Positions(fixture.Batch, fixture.Tokens) }

// placed returns the site with the positions of the tokens.
func placed(at nn.Site, limit int) nn.Site {
	at.Context = limit
	at.Positions = declare(at, "positions", limit, -1, places())
	return at
}

func learned[T hand.Number](at hand.Site[T]) hand.Layer[T] {
	return sequence[T]{{"wpe", hand.LearnedPositions[T]{Weight: at.At("wpe").Param("weight"), Positions: places()}}}
}

func waves[T hand.Number](hand.Site[T]) hand.Layer[T] {
	return hand.Sinusoidal[T]{Waves: hand.Sinusoids(fixture.Positions, fixture.Features, base), Positions: places()}
}
