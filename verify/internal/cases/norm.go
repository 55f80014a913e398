package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

func norms() []verify.Entry {
	root := func(at nn.Site) nn.Layer { return nn.NewLayerNorm(at) }
	sigma := func(at nn.Site) nn.Layer { return nn.NewLayerNormSigma(at) }
	plain := func(at nn.Site) nn.Layer { return nn.NewLayerNormPlain(at) }
	rms := func(at nn.Site) nn.Layer { return nn.NewRMSNorm(at) }
	return []verify.Entry{
		{
			ID: "I20", What: "layer normalisation, ε inside the root", Source: "Boué (36)–(42)",
			Cases: part("norm=layernorm",
				norm("layer norm", "LayerNorm", "Boué (36)–(42), Diab (2), (19)", true, root,
					hand.Site[float64].LayerNorm, hand.Site[complex128].LayerNorm),
				norm("layer norm without a bias", "LayerNorm", "Boué (36)–(41)", false, root,
					hand.Site[float64].LayerNorm, hand.Site[complex128].LayerNorm),
			),
		},
		{
			ID: "I21", What: "layer normalisation, ε beside σ", Source: "Conti (4), errata C2, C3",
			Cases: part("norm=layernorm_sigma",
				norm("layer norm with ε beside σ", "LayerNormSigma", "Conti (4); errata C2, C3", true, sigma,
					hand.Site[float64].LayerNormSigma, hand.Site[complex128].LayerNormSigma),
				norm("layer norm with ε beside σ, without a bias", "LayerNormSigma", "Conti (4); errata C2, C3",
					false, sigma, hand.Site[float64].LayerNormSigma, hand.Site[complex128].LayerNormSigma),
			),
		},
		{
			ID: "I22", What: "layer normalisation without gain and shift", Source: "CS 224n (27)–(28), erratum S7",
			Cases: part("norm=layernorm_plain",
				norm("plain layer norm", "LayerNormPlain", "CS 224n (27), (28); erratum S7", true, plain,
					hand.Site[float64].LayerNormPlain, hand.Site[complex128].LayerNormPlain),
			),
		},
		{
			ID: "I64", What: "root mean square layer normalisation", Source: "Zhang and Sennrich 2019",
			Cases: part("norm=rmsnorm",
				norm("rms norm", "RMSNorm", "Zhang and Sennrich 2019", true, rms,
					hand.Site[float64].RMSNorm, hand.Site[complex128].RMSNorm),
			),
		},
	}
}

const visibleEps = 1e-3 // an ε that is large enough to matter

func norm(name, kind, source string, bias bool, library func(nn.Site) nn.Layer,
	real layer[float64], step layer[complex128]) verify.Case {
	return byHand(verify.Case{
		Name: name, Types: []string{kind}, Source: source,
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Bias, at.Eps = bias, visibleEps
			return library(at).Forward(x)
		},
	}, withEps(real), withEps(step))
}

func withEps[T hand.Number](l layer[T]) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		at.Eps = visibleEps
		return l(at)
	}
}
