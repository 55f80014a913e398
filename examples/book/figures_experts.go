package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// figureRouter shows the probabilities of a router and its gates.
func figureRouter() (string, error) {
	z := hand.NewMatrix(6, 4,
		2, 0, 0, -1,
		1, 0.9, 0.8, -1,
		0, 0, 3, 0,
		-1, 1.5, 1.4, 0,
		0.2, 0.1, 0, 2.5,
		0, 1, -2, 0.9)
	gates := hand.Routing[float64]{K: 2, Norm: true}.Forward(z)
	var tokens []string
	for i := range z.Rows {
		tokens = append(tokens, fmt.Sprintf("token %d", i+1))
	}
	experts := []string{"1", "2", "3", "4"}
	picture := heats(heat{"probabilities", z.Softmax(), tokens, experts, 2}, heat{"gates", gates, nil, experts, 2})
	return picture, gates.Err
}

// figureBalance shows how a loss divides the tokens among experts.
func figureBalance() (string, error) {
	const tokens, features, experts, steps, rate = 128, 8, 4, 60, 0.3
	random := rand.New(rand.NewPCG(13, 0))
	x, w := hand.Zeros[float64](tokens, features), hand.Zeros[float64](features, experts)
	for i := range x.Data {
		if x.Data[i] = random.NormFloat64(); i%features == 0 {
			x.Data[i] = 1
		}
	}
	for i := range w.Data {
		w.Data[i] = 0.3 * random.NormFloat64()
	}
	w.Data[0] = 1.5
	routing := hand.Routing[float64]{K: 1}
	loss := hand.SwitchLoss[float64]{Routing: routing}
	one := hand.Zeros[float64](1, 1).Shift(1)
	curves := make([]curve, experts)
	for step := range steps + 1 {
		z := x.MatMul(w)
		chosen := routing.Forward(z).Step().SumTokens().Scale(1. / tokens)
		dz, _ := loss.Backward(z, one)
		if w = w.Sub(x.Transpose().MatMul(dz).Scale(rate)); w.Err != nil {
			return "", w.Err
		}
		for e := range curves {
			curves[e].name = fmt.Sprintf("expert %d", e+1)
			curves[e].x, curves[e].y = append(curves[e].x, float64(step)), append(curves[e].y, chosen.At(0, e))
		}
	}
	return chart("steps", "share of the tokens", curves...), nil
}
