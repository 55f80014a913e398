package nn_test

import (
	"fmt"
	"log"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func ExampleSigmoid() {
	x := site().Value("x", numbers(-1000, -1, 0, 1, 1000), 1, 5)
	show(nn.Sigmoid{}.Forward(x))
	// Output:
	//   0.00  0.27  0.50  0.73  1.00
}

func ExampleSiLU() {
	x := site().Value("x", numbers(-4, -1, 0, 1, 10), 1, 5)
	show(nn.SiLU{}.Forward(x))
	// Output:
	//  -0.07 -0.27  0.00  0.73 10.00
}

func ExampleSoftplus() {
	x := site().Value("x", numbers(-1000, -1, 0, 1, 10), 1, 5)
	show(nn.Softplus{}.Forward(x))
	// Output:
	//   0.00  0.31  0.69  1.31 10.00
}

// Two sequences of three tokens: a row for each.
func ExampleMeanTokens() {
	at := site()
	at.Batch = 2
	show(nn.NewMeanTokens(at).Forward(at.Value("x", numbers(1, 10, 2, 20, 6, 30, 0, 0, 0, 0, 9, 3), 6, 2)))
	// Output:
	//   3.00 20.00
	//   3.00  1.00
}

// The last tokens of two sequences of lengths 3 and 2.
func ExampleGatherTokens() {
	at := site()
	at.Batch = 2
	last := at.Ints("last", 2, at.Context, -1)
	copy(last.Ints(), []int{2, 1})
	show(nn.NewGatherTokens(at, last).Forward(at.Value("x", numbers(1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 0, 0), 6, 2)))
	// Output:
	//   3.00 30.00
	//   5.00 50.00
}

func ExampleSquaredError() {
	s := site().Scope
	x, y := s.Value("x", numbers(1, 2, 3, 4), 2, 2), s.Value("y", numbers(1, 2, 3, 8), 2, 2)
	show(nn.NewSquaredError(s).Forward(x, y)) // (0 + 0 + 0 + 16)/4
	// Output:
	//   4.00
}

// Three labels of one object: two are right and certain, and one is undecided and costs ln 2. The gradient is (σ(z) −
// y)/3.
func ExampleBinaryCrossEntropy() {
	s := site().Scope
	z, y := s.Param("z", numbers(1000, -1000, 0), 1, 3), s.Value("y", numbers(1, 0, 1), 1, 3)
	p, err := graph.Compile(nn.NewBinaryCrossEntropy(s).Forward(z, y), z)
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Run(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f %.3f\n", p.Loss(), p.Grad(z).Floats())
	// Output:
	// 0.231 [0.000 0.000 -0.167]
}
