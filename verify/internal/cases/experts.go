package cases

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// routers returns the gates of a router, and the loss that balances experts. The features of x serve as logits.
func routers[T hand.Number]() []entry[T] {
	gates := entry[T]{Entry: verify.Entry{ID: "I114"}}
	losses := entry[T]{Entry: verify.Entry{
		ID: "I115", What: "loss that balances experts", Source: "Fedus et al. 2021, (4)–(6)",
	}}
	for _, by := range []hand.Routing[T]{
		{K: 3}, {K: 2, Norm: true}, {K: 1, Sigmoid: true}, {K: 2, Sigmoid: true, Norm: true},
	} {
		routing := func(at nn.Site) nn.Routing {
			return nn.Routing{Router: graph.Router{Experts: at.Embd, Active: by.K, Sigmoid: by.Sigmoid, Norm: by.Norm}}
		}
		name := fmt.Sprintf("the %d largest of a softmax", by.K)
		if by.Sigmoid {
			name = fmt.Sprintf("the %d largest of a sigmoid", by.K)
		}
		gates.formulas = append(gates.formulas, formula[T]{verify.Case{
			Name: "gates, " + name, Types: []string{"Routing"}, Source: "Jiang et al. 2024, section 2.1",
			Build: func(at nn.Site, x graph.Expr) graph.Expr { return routing(at).Forward(x) },
		}, fixed[T](by)})
		losses.formulas = append(losses.formulas, formula[T]{verify.Case{
			Name: "balance, " + name, Types: []string{"SwitchLoss"}, Source: losses.Source,
			Build: func(at nn.Site, x graph.Expr) graph.Expr { return nn.SwitchLoss{Routing: routing(at)}.Forward(x) },
		}, fixed[T](hand.SwitchLoss[T]{Routing: by})})
	}
	return []entry[T]{gates, losses}
}
