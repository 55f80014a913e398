package nn_test

import (
	"fmt"
	"log"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// gradient prints ∂loss/∂x times 100, with a line for every row.
func gradient(loss, x graph.Expr) {
	p, err := graph.Compile(loss, x)
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Run(); err != nil {
		log.Fatal(err)
	}
	g := p.Grad(x)
	for i := range g.Shape[0] {
		fmt.Printf("%6.1f\n", scaled(g.Row(i).Floats()))
	}
}

func scaled(x []float64) []float64 {
	for i := range x {
		x[i] = 100*x[i] + 0 // no −0
	}
	return x
}

// Three actions out of four were drawn, action 0 each time, with the returns 1, −1 and 0. Descending the gradient makes
// the first action more likely and the second less likely; the third teaches nothing.
func ExampleReinforce() {
	s := graph.New(graph.Float64, 1).Root()
	logits := s.Value("logits", graph.Const(0), 3, 4)
	r := nn.NewRollout(s, 3, 4)
	fill(r.Returns, 1, -1, 0)
	gradient(nn.NewReinforce(s).Forward(logits, r), logits)
	// Output:
	// [ -25.0    8.3    8.3    8.3]
	// [  25.0   -8.3   -8.3   -8.3]
	// [   0.0    0.0    0.0    0.0]
}

// A good action that is already 1.5 times as likely as when it was drawn gets no further push; one that has become less
// likely does.
func ExamplePPOClip() {
	s := graph.New(graph.Float64, 1).Root()
	logits := s.Value("logits", graph.Const(0), 2, 4)
	r := nn.NewRollout(s, 2, 4)
	fill(r.Returns, 1, 1)
	fill(r.LogProbs, math.Log(0.25/1.5), math.Log(0.25/0.8))
	gradient(nn.NewPPOClip(s).Forward(logits, r), logits)
	// Output:
	// [   0.0    0.0    0.0    0.0]
	// [ -30.0   10.0   10.0   10.0]
}

// A value function is the baseline: a return that it expected is not rewarded again. It has its own loss.
func ExampleValueHead() {
	at := site()
	hidden := at.Value("hidden", numbers(1, 0, 0, 1), 2, 2)
	value := nn.NewValueHead(at.At("value"))
	set(at.Graph(), map[string][]float64{"value.weight": {1, 0.5}})
	r := nn.NewRollout(at.Scope, 2, 4)
	fill(r.Returns, 1, 1)
	r.Baseline = value.Forward(hidden)
	show(r.Baseline)
	logits := at.Value("logits", graph.Const(0), 2, 4)
	gradient(nn.NewReinforce(at.Scope).Forward(logits, r), logits)
	// Output:
	//   1.00
	//   0.50
	// [   0.0    0.0    0.0    0.0]
	// [ -18.8    6.2    6.2    6.2]
}

// The first token has the return 1 and the expected return ½; the other does not count.
func ExampleValueLoss() {
	s := graph.New(graph.Float64, 1).Root()
	values := s.Value("values", graph.Const(0.5), 2, 1)
	r := nn.NewRollout(s, 2, 4)
	fill(r.Returns, 1, 7)
	fill(r.Weights, 1, 0)
	loss := nn.NewValueLoss(s).Forward(values, r)
	show(loss)
	gradient(loss, values)
	// Output:
	//   0.25
	// [-100.0]
	// [   0.0]
}
