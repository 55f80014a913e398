package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

func norms[T hand.Number]() []Variant[T] {
	return []Variant[T]{
		{
			Name: "layernorm", Type: "LayerNorm", Hand: at(hand.Site[T].LayerNorm),
			ID: "I20", What: "layer normalisation, ε inside the root", Source: "Boué (36)–(42)",
			Settings: []Setting{
				{Name: "layer norm", Source: "Boué (36)–(42), Diab (2), (19)"},
				{Name: "layer norm without a bias", Source: "Boué (36)–(41)", NoBias: true},
			},
		},
		{
			Name: "layernorm_sigma", Type: "LayerNormSigma", Hand: at(hand.Site[T].LayerNormSigma),
			ID: "I21", What: "layer normalisation, ε beside σ", Source: "Conti (4), errata C2, C3",
			Settings: []Setting{
				{Name: "layer norm with ε beside σ", Source: "Conti (4); errata C2, C3"},
				{Name: "layer norm with ε beside σ, without a bias", Source: "Conti (4); errata C2, C3", NoBias: true},
			},
			By: []string{"I31"},
		},
		{
			Name: "layernorm_plain", Type: "LayerNormPlain", Hand: at(hand.Site[T].LayerNormPlain),
			ID: "I22", What: "layer normalisation without gain and shift", Source: "CS 224n (27)–(28), erratum S7",
			Settings: []Setting{{Name: "plain layer norm", Source: "CS 224n (27), (28); erratum S7"}},
		},
		{
			Name: "rmsnorm", Type: "RMSNorm", Hand: at(hand.Site[T].RMSNorm),
			ID: "I64", What: "root mean square layer normalisation", Source: "Zhang and Sennrich 2019",
			Settings: []Setting{{Name: "rms norm"}},
		},
		{
			Name: "dyt", Type: "DyT", Hand: at(hand.Site[T].DyT),
			ID: "I67", What: "dynamic tanh in place of a norm", Source: "Zhu et al. 2025",
			Settings: []Setting{{Name: "dynamic tanh"}, {Name: "dynamic tanh without a bias", NoBias: true}},
		},
	}
}
