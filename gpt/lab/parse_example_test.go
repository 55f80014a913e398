package lab_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/lab"
)

// A budget may also fix the number of parameters, to which a field moves.
func ExampleParseBudget() {
	b, err := lab.ParseBudget("tokens=1e6,parameters=800000,vary=n_embd")
	fmt.Println(b.Tokens, b.Parameters, b.Vary, b.FLOPs, b.Seconds, err)
	_, err = lab.ParseBudget("token=1e6")
	fmt.Println(err)
	// Output:
	// 1e+06 800000 n_embd 0 0 <nil>
	// got "token=1e6", want steps or parameters, a whole number, or tokens, flops or seconds; did you mean tokens?
}

func ExampleParseGrid() {
	grid, err := lab.ParseGrid([]string{"learning_rate=3e-4,1e-3"})
	fmt.Println(grid[0].Field, grid[0].Values, err)
	// Output: learning_rate [3e-4 1e-3] <nil>
}

// Norms are one factor, and an activation is another.
func ExampleFactorial() {
	for _, a := range lab.Factorial(lab.Arms("baseline", "norm=rmsnorm", "norm=dyt", "activation=relu")) {
		fmt.Println(a.Name)
	}
	fmt.Println(len(lab.Cross(lab.Arms("baseline", "bias=true"), lab.Arms("baseline", "norm=dyt"))))
	// Output:
	// baseline
	// activation=relu
	// norm=rmsnorm
	// norm=rmsnorm,activation=relu
	// norm=dyt
	// norm=dyt,activation=relu
	// 4
}

// The time of a token varies from run to run; the memory does not.
func ExampleCost() {
	for _, m := range []lab.Measure{lab.Cost(256, 2048), lab.Decoding(), lab.Memory(), lab.State()} {
		fmt.Println(m.Name, m.Timed)
	}
	// Output:
	// cost at 256 true
	// decode true
	// memory false
	// state false
}
