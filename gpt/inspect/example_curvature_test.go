package inspect_test

import (
	"context"
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// The largest learning rate with which gradient descent on a text is stable.
func ExampleCurvature() {
	curvature, err := inspect.NewCurvature(network(), text.Tokens{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5})
	if err != nil {
		panic(err)
	}
	e, err := curvature.Largest(context.Background(), inspect.Lanczos{Seed: 1, Tolerance: 1e-3, MaxIterations: 100})
	if err != nil {
		panic(err)
	}
	fmt.Printf("largest of %d eigenvalues: %.2f, found within 0.1 %%: %t\n",
		curvature.Len(), e.Value, e.Residual <= 1e-3*e.Value)
	fmt.Printf("stable below a learning rate of %.2f\n", e.StableRate())
	// Output:
	// largest of 1704 eigenvalues: 20.76, found within 0.1 %: true
	// stable below a learning rate of 0.10
}

// The second derivative of the loss along a direction, vᵀHv.
func ExampleCurvature_Times() {
	curvature, err := inspect.NewCurvature(network(), text.Tokens{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5})
	if err != nil {
		panic(err)
	}
	v := make([]float64, curvature.Len())
	v[0] = 1 // the first parameter alone
	product, err := curvature.Times(context.Background(), v)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.4f\n", product[0])
	// Output: 0.0806
}
