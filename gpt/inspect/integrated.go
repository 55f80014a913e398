package inspect

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
	"gonum.org/v1/gonum/integrate/quad"
)

// IntegratedGradients returns the contribution of each entry of the activation x at a place to the loss, on the
// straight line from another activation, x₀ (Sundararajan, Taly and Yan, Axiomatic attribution for deep networks):
//
//	(x − x₀) ∘ ∫₀¹ ∂loss/∂x (x₀ + a(x − x₀)) da
//
// It uses Gauss's rule with the given number of points, which takes a forward and a backward pass for each. The entries
// add up to change, loss(x) − loss(x₀), except for the rule's error, which soon becomes small if the loss is smooth. A
// nil x₀ means zeros, near which a norm of x is hardly smooth: on a residual stream another x₀ needs fewer points.
func IntegratedGradients(
	m *gpt.Model, place string, from *graph.Tensor, tokens, targets []int, points int,
) (entries graph.Tensor, change float64, err error) {
	const most = 1 << 12 // points: finding them costs their square
	if points < 1 || points > most {
		return entries, 0, errors.Errorf("inspect: got %d points, want 1 to %d", points, most)
	}
	own, err := Tap(m, place)
	if err != nil {
		return entries, 0, err
	}
	if len(own.names) != 1 {
		return entries, 0, errors.Errorf("inspect: got %q, %d activations, want one", place, len(own.names))
	}
	activations, err := own.Run(tokens)
	if err != nil {
		return entries, 0, err
	}
	x := activations.values[place]
	zero := x.Clone()
	zero.Fill(make([]float64, zero.Len())...)
	if from == nil {
		from = &zero
	}
	if from.Len() != x.Len() {
		return entries, 0, errors.Errorf("inspect: %s: got %d numbers to begin with, want %d, %v",
			place, from.Len(), x.Len(), x.Shape)
	}
	var moved graph.Expr
	rest, err := Replace(m, place, func(x graph.Expr) graph.Expr {
		moved = x.Graph().Root().Value("inspect.moved", graph.Const(0), x.Shape()...)
		return moved
	})
	if err != nil {
		return entries, 0, err
	}
	probe, err := Tap(rest, place)
	if err != nil {
		return entries, 0, err
	}
	entries = graph.Tensor{Shape: x.Shape, F64: make([]float64, x.Len())}
	at := func(a, weight float64) (loss float64, err error) {
		for i := range x.Len() {
			moved.Tensor().Set(i, from.At(i)+a*(x.At(i)-from.At(i)))
		}
		loss, slope, err := probe.Gradients(tokens, targets)
		for i := range slope.values[place].Len() {
			entries.F64[i] += weight * slope.values[place].At(i) * (x.At(i) - from.At(i))
		}
		return loss, err
	}
	// The points of the rule, then both ends, which have no weight.
	places, weights, losses := make([]float64, points+2), make([]float64, points+2), make([]float64, points+2)
	quad.Legendre{}.FixedLocations(places[:points], weights[:points], 0, 1)
	places[points+1] = 1
	for i, a := range places {
		if losses[i], err = at(a, weights[i]); err != nil {
			return entries, 0, err
		}
	}
	return entries, losses[points+1] - losses[points], nil
}
