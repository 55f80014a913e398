package verify

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// positionCases add positions to tokens; there are more positions than tokens.
func positionCases() []Case {
	const base = 50
	positions := Positions(fixtureBatch, fixtureTokens)
	place := func(at nn.Site) nn.Site {
		at.Context = fixturePositions
		at.Positions = at.Ints("positions", len(positions), fixturePositions, -1)
		copy(at.Positions.Ints(), positions)
		return at
	}
	waves, scale := Sinusoids(fixturePositions, fixtureFeatures, base), math.Sqrt(fixtureFeatures)
	return []Case{
		{
			ID: "I05", Name: "learned positions", Types: []string{"LearnedPositions"}, Source: "Boué (2), (3); Diab (1), (38), erratum D11",
			Build: func(at nn.Site, x graph.Expr) graph.Expr {
				return nn.NewLearnedPositions(place(at).At("wpe")).Forward(x)
			},
			Forward: func(p Parameters[complex128]) Matrix[complex128] {
				return PositionsForward(p[input], p["wpe.weight"], positions, 1)
			},
			Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
				dx, dw := PositionsBackward(p["wpe.weight"], positions, 1, delta)
				return Parameters[float64]{input: dx, "wpe.weight": dw}
			},
		},
		{
			ID: "I06", Name: "sinusoidal positions", Types: []string{"Sinusoidal"}, Source: "Conti (1), (2), erratum C4",
			Build: func(at nn.Site, x graph.Expr) graph.Expr { return nn.NewSinusoidal(place(at), base).Forward(x) },
			Forward: func(p Parameters[complex128]) Matrix[complex128] {
				return PositionsForward(p[input], Lift[complex128](waves), positions, scale)
			},
			Backward: func(_ Parameters[float64], delta Matrix[float64]) Parameters[float64] {
				dx, _ := PositionsBackward(waves, positions, scale, delta)
				return Parameters[float64]{input: dx}
			},
		},
	}
}
