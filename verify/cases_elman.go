package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func elmanCases() []Case {
	return []Case{elmanCase("elman", true), elmanCase("elman without a bias", false)}
}

func elmanCase(name string, bias bool) Case {
	return Case{
		ID: "I33", Name: name, Types: []string{"Elman"}, Source: "CS 224n (4)–(6), (19)",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Bias = bias
			return nn.NewElman(at.At("rnn")).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			return ElmanForward(p[input], p["rnn.c_input.weight"], p["rnn.weight"], p["rnn.c_input.bias"], fixtureBatch)
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			dx, du, dw, db := ElmanBackward(p[input], p["rnn.c_input.weight"], p["rnn.weight"], p["rnn.c_input.bias"], fixtureBatch, delta)
			g := Parameters[float64]{input: dx, "rnn.c_input.weight": du, "rnn.weight": dw}
			if bias {
				g["rnn.c_input.bias"] = db
			}
			return g
		},
	}
}
