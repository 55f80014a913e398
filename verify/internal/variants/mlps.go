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
			Name: "swiglu", Type: "GLU", Hand: glu[T](hand.SiLU[T]{}),
			ID: "I65", What: "feed-forward layer with a gate", Source: "Shazeer 2020",
			Settings: []Setting{{Name: "swiglu"}, {Name: "swiglu without biases", NoBias: true}},
		},
		{
			Name: "geglu", Type: "GLU", Hand: glu[T](hand.GELU[T]{}),
			ID: "I65", Settings: []Setting{{Name: "geglu", Source: "Shazeer 2020"}},
		},
		{
			Name: "geglu_tanh", Type: "GLU", Hand: glu[T](hand.GELUTanh[T]{}),
			ID: "I65", Settings: []Setting{{Name: "geglu by tanh", Source: "Shazeer 2020"}},
		},
		{
			Name: "reglu", Type: "GLU", Hand: glu[T](hand.ReLU[T]{}),
			ID: "I65", Settings: []Setting{{Name: "reglu without biases", Source: "Shazeer 2020", NoBias: true}},
		},
		{
			Name: "moe", Type: "MoE",
			Hand: func(p Place[T]) hand.Layer[T] {
				return p.Site.MoE(hand.Routing[T]{
					K: p.plan.Experts.Active, Sigmoid: p.plan.Experts.Sigmoid, Norm: p.plan.Experts.Norm,
				})
			},
			ID: "I114", What: "mixture of experts", Source: "Jiang et al. 2024, section 2.1",
			Settings: []Setting{
				{Name: "mixture of experts", Experts: Experts{Count: 5, Active: 2}},
				{
					Name:    "mixture with normalised gates and dropout, shared experts",
					Experts: Experts{Count: 4, Active: 3, Shared: 2, Norm: true}, Dropout: 0.3,
				},
				{Name: "mixture with a sigmoid", Experts: Experts{Count: 5, Active: 2, Sigmoid: true}},
				{
					Name:    "mixture with normalised gates of a sigmoid",
					Experts: Experts{Count: 3, Active: 2, Sigmoid: true, Norm: true},
				},
				{
					Name: "mixture with a bias that balances", Source: "Wang et al. 2024, (3)",
					Experts: Experts{Count: 5, Active: 2, Biased: true},
				},
				{
					Name: "mixture of a sigmoid with a bias that balances", Source: "Wang et al. 2024, (3)",
					Experts: Experts{Count: 4, Active: 2, Sigmoid: true, Norm: true, Shared: 1, Biased: true},
				},
			},
		},
		{
			Name: "moe_clamped", Type: "MoE",
			Hand: func(p Place[T]) hand.Layer[T] {
				return p.Site.ClampedMoE(hand.Routing[T]{
					K: p.plan.Experts.Active, Sigmoid: p.plan.Experts.Sigmoid, Norm: p.plan.Experts.Norm,
				}, p.plan.Experts.Limit)
			},
			ID: "I114", Settings: []Setting{
				{
					Name: "mixture with biases and clamped features", Source: "OpenAI 2025, gpt-oss",
					Experts: Experts{Count: 4, Active: 2, Norm: true, Limit: 0.4}, Dropout: 0.3,
				},
				{
					Name: "mixture of clamped features, shared experts", Source: "OpenAI 2025, gpt-oss",
					Experts: Experts{Count: 3, Active: 2, Shared: 1, Limit: 7},
				},
			},
		},
	}
}

// Experts describes the experts of mlp moe and moe_clamped.
type Experts struct {
	Count, Active, Shared int
	Sigmoid, Norm         bool
	Balance               float64 // α of the loss that balances them
	Biased                bool    // a bias balances them
	Limit                 float64 // of the features of mlp moe_clamped
}

// glu returns the Hand of a layer with a gate by g.
func glu[T hand.Number](g hand.Layer[T]) func(Place[T]) hand.Layer[T] {
	return at(func(at hand.Site[T]) hand.Layer[T] { return at.GLU(g) })
}
