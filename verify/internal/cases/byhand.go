package cases

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// byHand returns c with its formulas and their sizes. The formulas are the same layer for numbers and for the complex
// step.
func byHand(n fixture.Sizes, c verify.Case, real layer[float64], step layer[complex128]) verify.Case {
	c.Dims = n.Dims()
	c.Forward = func(p hand.Parameters[complex128]) hand.Matrix[complex128] {
		return step(site(p)).Forward(p[input])
	}
	c.Backward = func(p hand.Parameters[float64], delta matrix) hand.Gradients[float64] {
		dx, g := real(site(p)).Backward(p[input], delta)
		for i := range g {
			if g[i].Name == hand.MemoryDelta { // the encoder's output is a parameter of the Case
				g[i].Name, g[i].Delta = memory, false
			}
			g[i].Name = strings.TrimPrefix(g[i].Name, "/")
		}
		return append(g, hand.Gradient[float64]{Name: input, Value: dx})
	}
	return c
}

func site[T hand.Number](p hand.Parameters[T]) hand.Site[T] {
	return hand.Site[T]{Parameters: p, Eps: 1e-5}
}

// sequence applies layers one after another.
type sequence[T hand.Number] []named[T]

// named is a layer whose parameters begin with a name.
type named[T hand.Number] struct {
	name  string
	layer hand.Layer[T]
}

// Forward applies every layer in order.
func (s sequence[T]) Forward(x hand.Matrix[T]) hand.Matrix[T] {
	for _, l := range s {
		x = l.layer.Forward(x)
	}
	return x
}

// Backward goes through the layers from the last to the first.
func (s sequence[T]) Backward(x, delta hand.Matrix[T]) (dx hand.Matrix[T], g hand.Gradients[T]) {
	inputs := []hand.Matrix[T]{x}
	for i, l := range s {
		inputs = append(inputs, l.layer.Forward(inputs[i]))
	}
	for i, l := range slices.Backward(s) {
		var own hand.Gradients[T]
		delta, own = l.layer.Backward(inputs[i], delta)
		g = append(own.In(l.name, ""), g...)
	}
	return delta, g
}
