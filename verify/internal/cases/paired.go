package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// pairedLosses returns Cases of losses that compare x with numbers of the same shape. They are differentiated by both.
func pairedLosses[T hand.Number]() []entry[T] {
	squared := paired("squared error", "SquaredError",
		func(at nn.Site, x, y graph.Expr) graph.Expr { return nn.NewSquaredError(at.Scope).Forward(x, y) },
		func(at hand.Site[T]) hand.Layer[T] { return hand.SquaredError[T]{Y: at.Param("y")} })
	binary := paired("binary cross entropy", "BinaryCrossEntropy",
		func(at nn.Site, x, y graph.Expr) graph.Expr { return nn.NewBinaryCrossEntropy(at.Scope).Forward(x, y) },
		func(at hand.Site[T]) hand.Layer[T] { return hand.BinaryCrossEntropy[T]{Y: at.Param("y")} })
	return []entry[T]{
		{verify.Entry{ID: "I62", What: "squared error", Source: "derived"}, []formula[T]{squared}},
		{verify.Entry{ID: "I63", What: "binary cross entropy from logits", Source: "derived"}, []formula[T]{binary}},
	}
}

func paired[T hand.Number](name, kind string, library func(at nn.Site, x, y graph.Expr) graph.Expr,
	l layer[T]) formula[T] {
	return formula[T]{verify.Case{
		Name: name, Types: []string{kind}, Source: "derived by the chain rule",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			return library(at, x, at.Param("y", graph.Normal(1), at.Batch*at.Context, at.Embd))
		},
	}, l}
}
