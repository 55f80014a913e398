package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// figureAttention shows the weights of a head that looks for the token before, with and without a mask.
func figureAttention() (string, error) {
	const n = 6
	keys := hand.Zeros[float64](n, n) // key j is its place, and query i looks for place i − 1
	queries := hand.Zeros[float64](n, n)
	var names []string
	for i := range n {
		keys.Data[i*n+i] = 1
		queries.Data[i*n+max(i-1, 0)] = 2 * math.Sqrt(n)
		names = append(names, fmt.Sprint(i+1))
	}
	masked := hand.Attention[float64]{Mask: hand.CausalMask(n)}.Weights(queries, keys)
	open := hand.Attention[float64]{}.Weights(queries, keys)
	for i := range n {
		for j := i + 1; j < n; j++ {
			masked.Data[i*n+j] = math.NaN() // empty in the picture
		}
	}
	return heats(heat{"p, causal", masked, names, names, 2}, heat{"p without a mask", open, names, names, 2}), open.Err
}

// figureActivations draws three bends.
func figureActivations() (string, error) {
	list := []curve{{name: "ReLU"}, {name: "GELU"}, {name: "SiLU"}}
	layers := []hand.Layer[float64]{hand.ReLU[float64]{}, hand.GELU[float64]{}, hand.SiLU[float64]{}}
	for i := -80; i <= 40; i++ {
		x := float64(i) / 20
		for j, l := range layers {
			y := l.Forward(hand.NewMatrix(1, 1, x))
			if y.Err != nil {
				return "", y.Err
			}
			list[j].x, list[j].y = append(list[j].x, x), append(list[j].y, y.Data[0])
		}
	}
	return chart("x", "result", list...), nil
}

// figureDepth draws the size of a gradient on its way through random layers, with and without residual connections.
func figureDepth() (string, error) {
	const layers, d = 24, 32
	random := rand.New(rand.NewPCG(1, 1))
	draw := func(rows int, size float64) values64 {
		m := hand.Zeros[float64](rows, d)
		for i := range m.Data {
			m.Data[i] = size * random.NormFloat64()
		}
		return m
	}
	list := []curve{{name: "x + f(x)"}, {name: "f(x)"}}
	for i, residual := range []bool{true, false} {
		var weights, inputs []values64
		x := draw(8, 1)
		for range layers {
			w := draw(d, 0.9/math.Sqrt(d))
			weights, inputs = append(weights, w), append(inputs, x)
			y := x.MatMul(w).Tanh()
			if residual {
				y = y.Scale(1 / math.Sqrt(layers)).Add(x)
			}
			x = y
		}
		delta := draw(8, 1)
		for l := layers - 1; l >= 0; l-- {
			list[i].x, list[i].y = append(list[i].x, float64(l+1)), append(list[i].y, math.Log10(size(delta)))
			t := inputs[l].MatMul(weights[l]).Tanh()
			below := delta.Mul(t.Square().Scale(-1).Shift(1)).MatMul(weights[l].Transpose())
			if residual {
				below = below.Scale(1 / math.Sqrt(layers)).Add(delta)
			}
			delta = below
		}
	}
	return chart("layer", "log₁₀ of the size of the gradient", list...), nil
}

// size returns the root of the mean square of the entries.
func size(x values64) float64 {
	var sum float64
	for _, v := range x.Data {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(x.Data)))
}
