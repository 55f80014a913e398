package nn_test

import (
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Two linear layers with SiLU between them learn a function of one number from its values at 64 points.
func Example_regression() {
	const n, hidden = 64, 32
	g := graph.New(graph.Float32, 1)
	s := g.Root()
	x, y := s.Value("x", graph.Const(0), n, 1), s.Value("y", graph.Const(0), n, 1)
	f := func(x float64) float64 { return math.Sin(2 * x) }

	in := nn.NewLinear(s.Sub("in"), 1, []int{hidden}, true, graph.Normal(2))
	out := nn.NewLinear(s.Sub("out"), hidden, []int{1}, true, graph.Normal(0.1))
	guess := out.Forward(nn.SiLU{}.Forward(in.Forward(x))) // (n, 1)
	train, err := graph.Compile(nn.NewSquaredError(s.Sub("loss")).Forward(guess, y), g.Params()...)
	test, err2 := graph.Compile(guess)
	adam, err3 := optim.New(g.Params(), optim.AdamW{Beta1: 0.9, Beta2: 0.999})
	for i := range n {
		place := 4*float64(i)/(n-1) - 2 // from −2 to 2
		x.Tensor().Set(i, place)
		y.Tensor().Set(i, f(place))
	}
	for step := 0; step < 1000 && err == nil; step++ {
		if err = train.Run(); err == nil {
			_, err = adam.Update(train, 0.02)
		}
	}
	for i := range n { // between the points of the training
		x.Tensor().Set(i, x.Tensor().At(i)*0.97)
	}
	if err = errors.Join(err, err2, err3, test.Run()); err != nil {
		log.Fatal(err)
	}
	worst := 0.0
	for i, got := range test.Value().Floats() {
		worst = max(worst, math.Abs(got-f(x.Tensor().At(i))))
	}
	fmt.Println("nowhere more than 0.1 off:", worst < 0.1)
	// Output: nowhere more than 0.1 off: true
}
