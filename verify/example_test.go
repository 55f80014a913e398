package verify_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/verify"
)

// A gradient derived on paper, held against the complex step of its forward: the
// layer y = x ∘ x with Δx = 2x ∘ Δ, and the same with the 2 forgotten.
func ExampleComplexStep() {
	p := verify.Parameters[float64]{"x": verify.NewMatrix(1, 3, 0.5, -1, 2)}
	delta := verify.NewMatrix(1, 3, 1.0, 2, 3)

	truth, err := verify.ComplexStep(func(z verify.Parameters[complex128]) (complex128, error) {
		y := z["x"].Square().Mul(verify.Lift[complex128](delta)).SumFeatures()
		return y.Data[0], y.Err
	}, p)
	if err != nil {
		fmt.Println(err)
		return
	}
	right := delta.Mul(p["x"]).Scale(2)
	wrong := delta.Mul(p["x"])
	fmt.Println(verify.Distance(right, truth["x"], 0).OK())
	fmt.Println(verify.Distance(wrong, truth["x"], 0).Distance)
	// Output:
	// true
	// 0.5
}

// The gradients of a whole model by hand, and what a mistake in one entry looks like.
func ExampleGPTBackward() {
	f := verify.Generic(verify.WithTying)
	a, err := verify.GPTForward(f.GPT, f.Parameters, f.Tokens, f.Targets)
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := verify.GPTBackward(f.GPT, f.Parameters, f.Tokens, f.Targets, a)
	if err != nil {
		fmt.Println(err)
		return
	}
	truth, err := verify.ComplexStep(f.Objective(f.Tokens, f.Targets), f.Parameters)
	if err != nil {
		fmt.Println(err)
		return
	}
	ds, err := verify.Compare(g.Parameters, truth)
	fmt.Println(len(ds), verify.Worst(ds).OK(), err)

	g.Parameters["h.1.ln_2.bias"].Data[5] *= 1.001
	ds, err = verify.Compare(g.Parameters, truth)
	d := verify.Worst(ds)
	fmt.Println(d.Name, d.Row, d.Col, d.OK(), err)
	// Output:
	// 28 true <nil>
	// h.1.ln_2.bias 0 5 false <nil>
}
