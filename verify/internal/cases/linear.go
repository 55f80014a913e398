package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

func linears[T hand.Number]() []entry[T] {
	return []entry[T]{{verify.Entry{ID: "I10", What: "affine layer", Source: "Boué (4)"}, []formula[T]{
		linear[T]("linear", "Boué (4), (23), (24)", true),
		linear[T]("linear without a bias", "Boué (4), (23)", false),
	}}}
}

func linear[T hand.Number](name, source string, bias bool) formula[T] {
	return formula[T]{verify.Case{
		Name: name, Types: []string{"Linear"}, Source: source,
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			return nn.NewLinear(at.Scope, at.Embd, []int{at.Inner}, bias, graph.Const(0)).Forward(x)
		},
	}, affine[T]}
}

func affine[T hand.Number](at hand.Site[T]) hand.Layer[T] { return at.Linear() }
