package train_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// A line is fitted to points: your own network is trained like the library's.
func ExampleNew() {
	var x, y, w, b graph.Expr
	rng := rand.New(rand.NewPCG(1, 2))
	task := train.Task{
		Build: func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
			s := g.Root()
			x, y = s.Value("x", graph.Const(0), 8, 2), s.Value("y", graph.Const(0), 8, 1)
			w, b = s.Param("w", graph.Const(0), 2, 1), s.Param("b", graph.Const(0), 1)
			return x.MatMul(w).Add(b).Sub(y).Square().SumAll().Scale(1. / 8), g.Params(), g.Err()
		},
		Fill: func(step, micro int) (int, error) {
			for i := range 8 {
				u, v := rng.Float64(), rng.Float64()
				x.Tensor().Set(2*i, u)
				x.Tensor().Set(2*i+1, v)
				y.Tensor().Set(i, 3*u-2*v+1)
			}
			return 8, nil
		},
		Optimizer: func(train.Training) optim.Rule { return optim.SGD{} },
	}
	training := train.Training{LearningRate: 0.5, GradientAccumulationSteps: 1}
	core, err := train.New(training, train.Run{Threads: 1}, task)
	if err != nil {
		fmt.Println(err)
		return
	}
	for core.Done < 400 {
		if _, err := core.Step(); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("%.2f %.2f\n", w.Tensor().Floats(), b.Tensor().Floats())
	// Output: [3.00 -2.00] [1.00]
}
