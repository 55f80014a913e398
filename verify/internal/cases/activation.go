package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

func activations() []verify.Entry {
	return []verify.Entry{{ID: "I24", What: "activations", Source: "Diab section 2.3", Cases: []verify.Case{
		activation("gelu", "gelu", "GELU", "Boué table 2, Δ₇",
			nn.GELU{}, hand.GELU[float64]{}, hand.GELU[complex128]{}),
		activation("gelu by tanh", "gelu_tanh", "GELUTanh", "Hendrycks and Gimpel 2016",
			nn.GELUTanh{}, hand.GELUTanh[float64]{}, hand.GELUTanh[complex128]{}),
		activation("relu", "relu", "ReLU", "Boué table 2, Δ₇",
			nn.ReLU{}, hand.ReLU[float64]{}, hand.ReLU[complex128]{}),
	}}, {
		ID: "I60", What: "activations of the logistic function", Source: "Elfwing et al. 2017, Dugas et al. 2001",
		Cases: []verify.Case{
			activation("sigmoid", "sigmoid", "Sigmoid", "σ' = σ(1 − σ), derived",
				nn.Sigmoid{}, hand.Sigmoid[float64]{}, hand.Sigmoid[complex128]{}),
			activation("silu", "silu", "SiLU", "Elfwing et al. 2017",
				nn.SiLU{}, hand.SiLU[float64]{}, hand.SiLU[complex128]{}),
			activation("softplus", "softplus", "Softplus", "Dugas et al. 2001",
				nn.Softplus{}, hand.Softplus[float64]{}, hand.Softplus[complex128]{}),
		},
	}}
}

func activation(name, part, kind, source string, library nn.Layer,
	real hand.Layer[float64], step hand.Layer[complex128]) verify.Case {
	return byHand(verify.Case{
		Name: name, Types: []string{kind}, Parts: []string{"activation=" + part}, Source: source,
		Build: func(_ nn.Site, x graph.Expr) graph.Expr { return library.Forward(x) },
	}, fixed(real), fixed(step))
}

// fixed returns a layer without parameters.
func fixed[T hand.Number](l hand.Layer[T]) layer[T] {
	return func(hand.Site[T]) hand.Layer[T] { return l }
}
