package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func normCases() []Case {
	const eps = 1e-3 // large enough to be seen
	norm := func(name string, bias bool, source string) Case {
		return Case{
			Name: name, Types: []string{"LayerNorm"}, Source: source,
			Build: func(at nn.Site, x graph.Expr) graph.Expr {
				at.Bias, at.Eps = bias, eps
				return nn.NewLayerNorm(at).Forward(x)
			},
			Forward: func(p Parameters[complex128]) Matrix[complex128] {
				return LayerNormForward(p[input], p["weight"], p["bias"], eps)
			},
			Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
				dx, dw, db := LayerNormBackward(p[input], p["weight"], delta, eps)
				g := Parameters[float64]{input: dx, "weight": dw}
				if bias {
					g["bias"] = db
				}
				return g
			},
		}
	}
	return []Case{
		norm("layer norm", true, "Boué (36)–(42)"),
		norm("layer norm without a bias", false, "Boué (36)–(41)"),
	}
}
