package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// pairedLosses returns Cases of losses that compare x with numbers of the same shape. They are differentiated by both.
func pairedLosses() []verify.Entry {
	return []verify.Entry{
		{ID: "I62", What: "squared error", Source: "derived", Cases: []verify.Case{paired(
			"squared error", "SquaredError",
			func(at nn.Site, x, y graph.Expr) graph.Expr { return nn.NewSquaredError(at.Scope).Forward(x, y) },
			func(at hand.Site[float64]) hand.Layer[float64] { return hand.SquaredError[float64]{Y: at.Param("y")} },
			func(at hand.Site[complex128]) hand.Layer[complex128] {
				return hand.SquaredError[complex128]{Y: at.Param("y")}
			},
		)}},
		{ID: "I63", What: "binary cross entropy from logits", Source: "derived", Cases: []verify.Case{paired(
			"binary cross entropy", "BinaryCrossEntropy",
			func(at nn.Site, x, y graph.Expr) graph.Expr { return nn.NewBinaryCrossEntropy(at.Scope).Forward(x, y) },
			func(at hand.Site[float64]) hand.Layer[float64] {
				return hand.BinaryCrossEntropy[float64]{Y: at.Param("y")}
			},
			func(at hand.Site[complex128]) hand.Layer[complex128] {
				return hand.BinaryCrossEntropy[complex128]{Y: at.Param("y")}
			},
		)}},
	}
}

func paired(name, kind string, library func(at nn.Site, x, y graph.Expr) graph.Expr,
	real layer[float64], step layer[complex128]) verify.Case {
	return byHand(verify.Case{
		Name: name, Types: []string{kind}, Source: "derived by the chain rule",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			return library(at, x, at.Param("y", graph.Normal(1), at.Batch*at.Context, at.Embd))
		},
	}, real, step)
}
