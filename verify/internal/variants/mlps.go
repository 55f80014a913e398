package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

// mlps lists the layers after the attention of a block.
func mlps[T hand.Number]() []Variant[T] {
	const table = "Boué table 2, a₇ to a₉"
	return []Variant[T]{
		{
			Name: "mlp", Type: "MLP",
			Hand: func(p Place[T]) hand.Layer[T] { return p.Site.MLP(p.layer("activation", p.plan.Activation)) },
			ID:   "I23", What: "feed-forward layer", Source: "Boué Table 2, Diab (9)",
			Settings: []Setting{
				{Name: "mlp", Source: table}, {Name: "mlp with relu", Source: table, Activation: "relu"},
			},
		},
		{
			Name: "swiglu", Type: "SwiGLU", Hand: at(hand.Site[T].SwiGLU),
			ID: "I65", What: "feed-forward layer with a gate", Source: "Shazeer 2020",
			Settings: []Setting{{Name: "swiglu"}, {Name: "swiglu without biases", NoBias: true}},
		},
	}
}
