package cases

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// routers returns the gates of a router, and what balances experts. The features of x serve as logits.
func routers[T hand.Number](n fixture.Sizes) []entry[T] {
	gates := entry[T]{Entry: verify.Entry{ID: "I114"}}
	losses := entry[T]{Entry: verify.Entry{
		ID: "I115", What: "loss that balances experts", Source: "Fedus et al. 2021, (4)–(6)",
	}}
	biases := entry[T]{Entry: verify.Entry{
		ID: "I118", What: "bias that balances experts", Source: "Wang et al. 2024, (3) and algorithm 1",
	}}
	bias := fixture.Random("bias", 1, n.Features)
	for _, by := range []hand.Routing[T]{
		{K: 3}, {K: 2, Norm: true}, {K: 1, Sigmoid: true}, {K: 2, Sigmoid: true, Norm: true},
	} {
		routing := func(at nn.Site) nn.Routing {
			return nn.Routing{Router: fused.Router{Experts: at.Embd, Active: by.K, Sigmoid: by.Sigmoid, Norm: by.Norm}}
		}
		name := fmt.Sprintf("the %d largest of a softmax", by.K)
		if by.Sigmoid {
			name = fmt.Sprintf("the %d largest of a sigmoid", by.K)
		}
		by.K = min(by.K, n.Features)
		gates.formulas = append(gates.formulas, formula[T]{verify.Case{
			Name: "gates, " + name, Types: []string{"Routing"}, Source: "Jiang et al. 2024, section 2.1",
			Build: func(at nn.Site, x graph.Expr) graph.Expr { return routing(at).Forward(x) },
		}, fixed[T](by)})
		losses.formulas = append(losses.formulas, formula[T]{verify.Case{
			Name: "balance, " + name, Types: []string{"SwitchLoss"}, Source: losses.Source,
			Build: func(at nn.Site, x graph.Expr) graph.Expr { return nn.SwitchLoss{Routing: routing(at)}.Forward(x) },
		}, fixed[T](hand.SwitchLoss[T]{Routing: by})})
		biased := by
		biased.Bias = hand.Lift[T](bias)
		biases.formulas = append(biases.formulas, formula[T]{verify.Case{
			Name: "gates with a bias, " + name, Types: []string{"Routing"}, Source: "Wang et al. 2024, (3)",
			Build: func(at nn.Site, x graph.Expr) graph.Expr {
				l := routing(at)
				l.Bias = at.Value("bias", given(bias), at.Embd)
				return l.Forward(x)
			},
		}, fixed[T](biased)})
	}
	return []entry[T]{gates, losses, biases}
}
