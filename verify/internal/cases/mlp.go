package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

func mlps() []verify.Entry {
	return []verify.Entry{{
		ID: "I23", What: "feed-forward layer", Source: "Boué Table 2, Diab (9)",
		Cases: of([]string{"block=pre", "block=post", "mlp=mlp"},
			mlp("mlp", nn.GELU{}, hand.GELU[float64]{}, hand.GELU[complex128]{}),
			mlp("mlp with relu", nn.ReLU{}, hand.ReLU[float64]{}, hand.ReLU[complex128]{}),
		),
	}, {
		ID: "I65", What: "feed-forward layer with a gate", Source: "Shazeer 2020",
		Cases: part("mlp=swiglu", swiglu("swiglu", true), swiglu("swiglu without biases", false)),
	}}
}

func swiglu(name string, bias bool) verify.Case {
	return byHand(verify.Case{
		Name: name, Types: []string{"SwiGLU"}, Source: "Shazeer 2020",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Bias = bias
			return nn.NewSwiGLU(at).Forward(x)
		},
	}, hand.Site[float64].SwiGLU, hand.Site[complex128].SwiGLU)
}

func mlp(name string, act nn.Layer, real hand.Layer[float64], step hand.Layer[complex128]) verify.Case {
	return byHand(verify.Case{
		Name: name, Types: []string{"MLP"}, Source: "Boué table 2, a₇ to a₉",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Act = act
			return nn.NewMLP(at).Forward(x)
		},
	}, feedForward(real), feedForward(step))
}

func feedForward[T hand.Number](act hand.Layer[T]) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] { return at.MLP(act) }
}
