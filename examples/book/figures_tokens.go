package main

import (
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// abba is the text of the chapter on tokens.
var abba = []int{0, 1, 1, 0}

func lettersOf(ids []int) (list []string) {
	for _, id := range ids {
		list = append(list, string(rune('a'+id)))
	}
	return list
}

// figureEmbedding shows the rows of a table that a text takes.
func figureEmbedding() (string, error) {
	table := hand.NewMatrix(3, 4,
		0.3, -0.8, 0.1, 0.5,
		-0.6, 0.2, 0.9, -0.1,
		0.4, 0.7, -0.5, -0.9)
	x := hand.Embedding[float64]{Weight: table}.Forward(abba)
	letters := []string{"a", "b", "c"}
	return heats(heat{"W", table, letters, nil, 1}, heat{"x = X·W", x, lettersOf(abba), nil, 1}), x.Err
}

// figureEmbeddingGradient shows how the gradient of a table adds rows of Δ.
func figureEmbeddingGradient() (string, error) {
	delta := hand.NewMatrix(4, 4,
		0.1, 0.2, 0, -0.3,
		-0.2, 0.1, 0.4, 0,
		-0.1, 0, 0.2, 0.2,
		0.3, -0.1, 0, -0.2)
	g := hand.Embedding[float64]{Weight: hand.Zeros[float64](3, 4)}.Backward(abba, delta)
	dw := g[0].Value
	return heats(heat{"Δ", delta, lettersOf(abba), nil, 1},
		heat{"ΔW = Xᵗ·Δ", dw, []string{"a", "b", "c"}, nil, 1}), dw.Err
}

// figureLinear shows the forward and the backward pass of a linear layer.
func figureLinear() (string, error) {
	l := hand.Linear[float64]{Weight: hand.NewMatrix(3, 2, 1.0, 0, 1, 0, 0, 1), Bias: hand.Zeros[float64](1, 2)}
	x, delta := hand.NewMatrix(2, 3, 1.0, 2, 3, 0.5, -1, 2), hand.NewMatrix(2, 2, -1.0, 0, 0, 0.5)
	y := l.Forward(x)
	dx, g := l.Backward(x, delta)
	names := []string{"token 1", "token 2"}
	first := heats(heat{"x", x, names, nil, 1}, heat{"w", l.Weight, nil, nil, 1}, heat{"y = x·w", y, nil, nil, 1})
	second := heats(heat{"Δ", delta, names, nil, 1}, heat{"Δx = Δ·wᵗ", dx, nil, nil, 1},
		heat{"Δw = xᵗ·Δ", g[0].Value, nil, nil, 1})
	return first + second, g[0].Value.Err
}

// figureSoftmax shows a softmax at three temperatures.
func figureSoftmax() (string, error) {
	z := hand.NewMatrix(1, 5, 2.0, 1, 0.5, 0, -1)
	rows := []values64{z}
	for _, t := range []float64{0.5, 1, 2} {
		rows = append(rows, z.Scale(1/t).Softmax())
	}
	m := hand.JoinTokens(rows[1:]...)
	names := []string{"T = 0.5", "T = 1", "T = 2"}
	return heats(heat{"z", z, nil, nil, 1}, heat{"softmax(z/T)", m, names, nil, 2}), m.Err
}

// figureUniform draws the loss against the probability of the right token.
func figureUniform() (string, error) {
	c := curve{name: "−ln p"}
	for i := 1; i <= 100; i++ {
		p := float64(i) / 100
		c.x, c.y = append(c.x, p), append(c.y, -math.Log(p))
	}
	return chart("probability of the right token", "loss in nats", c), nil
}

// numberUniform is the loss of a uniform guess among 65 characters.
func numberUniform() (string, error) { return fmt.Sprintf("%.3f", math.Log(65)), nil }

// figureCrossEntropy shows the gradient of the loss at three tokens.
func figureCrossEntropy() (string, error) {
	z := hand.NewMatrix[float64](3, 4,
		4, 1, 0, 1,
		1, 1, 1, 1,
		3, 0, 0, 0)
	targets := []int{0, 2, 3}
	l := hand.CrossEntropy[float64]{Targets: targets}
	delta, _ := l.Backward(z, hand.NewMatrix(1, 1, 3.0)) // 3: the sum, not the mean
	y := hand.Zeros[float64](3, 4)
	for i, id := range targets {
		y.Data[i*4+id] = 1
	}
	names := []string{"sure and right", "does not know", "sure and wrong"}
	return heats(heat{"p", z.Softmax(), names, nil, 2}, heat{"Y", y, nil, nil, 0},
		heat{"p − Y", delta, nil, nil, 2}), delta.Err
}
