package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

func linears() []verify.Entry {
	return []verify.Entry{{
		ID: "I10", What: "affine layer", Source: "Boué (4)",
		Cases: part("head=linear",
			linear("linear", "Boué (4), (23), (24)", true),
			linear("linear without a bias", "Boué (4), (23)", false)),
	}}
}

func linear(name, source string, bias bool) verify.Case {
	return byHand(verify.Case{
		Name: name, Types: []string{"Linear"}, Source: source,
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			return nn.NewLinear(at.Scope, at.Embd, []int{at.Inner}, bias, graph.Const(0)).Forward(x)
		},
	}, affine[float64], affine[complex128])
}

func affine[T hand.Number](at hand.Site[T]) hand.Layer[T] { return at.Linear() }
