package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// caseEps is an ε that is large enough to be seen.
const caseEps = 1e-3

func normCases() []Case {
	inside := func(at nn.Site) nn.Layer { return nn.NewLayerNorm(at) }
	beside := func(at nn.Site) nn.Layer { return nn.NewLayerNormSigma(at) }
	return []Case{
		normCase("I20", "layer norm", "LayerNorm", "Boué (36)–(42), Diab (2), (19)", true, inside, LayerNormForward, LayerNormBackward),
		normCase("I20", "layer norm without a bias", "LayerNorm", "Boué (36)–(41)", false, inside, LayerNormForward, LayerNormBackward),
		normCase("I21", "layer norm with ε beside σ", "LayerNormSigma", "Conti (4); errata C2, C3", true, beside, LayerNormSigmaForward, LayerNormSigmaBackward),
		normCase("I21", "layer norm with ε beside σ, without a bias", "LayerNormSigma", "Conti (4); errata C2, C3", false, beside, LayerNormSigmaForward, LayerNormSigmaBackward),
		plainNormCase(),
	}
}

func normCase(id, name, kind, source string, bias bool, norm func(nn.Site) nn.Layer,
	forward func(x, w, b Matrix[complex128], eps float64) Matrix[complex128],
	backward func(x, w, delta Matrix[float64], eps float64) (dx, dw, db Matrix[float64])) Case {
	return Case{
		ID: id, Name: name, Types: []string{kind}, Source: source,
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Bias, at.Eps = bias, caseEps
			return norm(at).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			return forward(p[input], p["weight"], p["bias"], caseEps)
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			dx, dw, db := backward(p[input], p["weight"], delta, caseEps)
			g := Parameters[float64]{input: dx, "weight": dw}
			if bias {
				g["bias"] = db
			}
			return g
		},
	}
}

func plainNormCase() Case {
	return Case{
		ID: "I22", Name: "plain layer norm", Types: []string{"LayerNormPlain"}, Source: "CS 224n (27), (28); erratum S7",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Eps = caseEps
			return nn.NewLayerNormPlain(at).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] { return LayerNormPlainForward(p[input], caseEps) },
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			return Parameters[float64]{input: LayerNormPlainBackward(p[input], delta, caseEps)}
		},
	}
}
