package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func activationCases() []Case {
	entrywise := func(name, kind, source string, layer nn.Layer, g Activation) Case {
		return Case{
			ID: "I24", Name: name, Types: []string{kind}, Source: source,
			Build:   func(at nn.Site, x graph.Expr) graph.Expr { return layer.Forward(x) },
			Forward: func(p Parameters[complex128]) Matrix[complex128] { return ActivationForward(g, p[input]) },
			Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
				return Parameters[float64]{input: ActivationBackward(g, p[input], delta)}
			},
		}
	}
	return []Case{
		entrywise("gelu", "GELU", "Boué table 2, Δ₇", nn.GELU{}, GELU),
		entrywise("gelu by tanh", "GELUTanh", "Hendrycks and Gimpel 2016", nn.GELUTanh{}, GELUTanh),
		entrywise("relu", "ReLU", "Boué table 2, Δ₇", nn.ReLU{}, ReLU),
		dropoutCase(),
	}
}

func dropoutCase() Case {
	mask := func() Matrix[float64] {
		return caseDropout("drop", fixtureBatch*fixtureTokens, fixtureFeatures)
	}
	return Case{
		ID: "I28", Name: "dropout with its mask fixed", Types: []string{"Dropout"}, Source: "Diab section 2.5, erratum D4",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Dropout = caseProbability
			return nn.NewDropout(at.At("drop")).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] { return DropoutForward(p[input], mask()) },
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			return Parameters[float64]{input: DropoutBackward(mask(), delta)}
		},
	}
}

const caseProbability = 0.3 // of dropping

// caseDropout is the mask that the library draws at a place.
func caseDropout(site string, rows, cols int) Matrix[float64] {
	g := spelled.graph(caseSeed, caseStep)
	return NewMatrix(rows, cols, g.DropoutMask(site, caseProbability, rows*cols)...)
}
