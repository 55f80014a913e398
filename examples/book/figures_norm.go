package main

import (
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// figureLayerNorm shows what layer norm keeps of four tokens.
func figureLayerNorm() (string, error) {
	x := hand.NewMatrix(4, 4,
		1, -1, 0.5, -0.5,
		10, -10, 5, -5,
		4, 2, 3.5, 2.5,
		2, 0, 0, -0.5)
	ones, zeros := hand.Zeros[float64](1, 4).Shift(1), hand.Zeros[float64](1, 4)
	y := hand.LayerNorm[float64]{Weight: ones, Bias: zeros, Eps: 1e-5}.Forward(x)
	names := []string{"token 1", "10 × token 1", "token 1 + 3", "another token"}
	return heats(heat{"x", x, names, nil, 1}, heat{"layer norm of x", y, nil, nil, 2}), y.Err
}
