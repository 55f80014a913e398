package variants

import "github.com/pedestrian-ml/pedestrian/verify/hand"

func activations[T hand.Number]() []Variant[T] {
	return []Variant[T]{
		{
			Name: "gelu", Type: "GELU", Hand: fixed(hand.GELU[T]{}),
			ID: "I24", What: "activations", Source: "Diab section 2.3",
			Settings: []Setting{{Name: "gelu", Source: "Boué table 2, Δ₇"}},
		},
		{
			Name: "gelu_tanh", Type: "GELUTanh", Hand: fixed(hand.GELUTanh[T]{}),
			ID: "I24", Settings: []Setting{{Name: "gelu by tanh", Source: "Hendrycks and Gimpel 2016"}},
		},
		{
			Name: "relu", Type: "ReLU", Hand: fixed(hand.ReLU[T]{}),
			ID: "I24", Settings: []Setting{{Name: "relu", Source: "Boué table 2, Δ₇"}},
		},
		{
			Name: "relu2", Type: "ReLU2", Hand: fixed(hand.ReLU2[T]{}),
			ID: "I24", Settings: []Setting{{Name: "relu2", Source: "So et al. 2021"}},
		},
		{
			Name: "sigmoid", Type: "Sigmoid", Hand: fixed(hand.Sigmoid[T]{}),
			ID: "I60", What: "activations of the logistic function",
			Source:   "Elfwing et al. 2017, Dugas et al. 2001",
			Settings: []Setting{{Name: "sigmoid", Source: "σ' = σ(1 − σ), derived"}},
		},
		{
			Name: "silu", Type: "SiLU", Hand: fixed(hand.SiLU[T]{}),
			ID: "I60", Settings: []Setting{{Name: "silu", Source: "Elfwing et al. 2017"}},
		},
		{
			Name: "softplus", Type: "Softplus", Hand: fixed(hand.Softplus[T]{}),
			ID: "I60", Settings: []Setting{{Name: "softplus", Source: "Dugas et al. 2001"}},
		},
	}
}
