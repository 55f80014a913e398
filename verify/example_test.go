package verify_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// A gradient derived on paper is compared with the complex step of its forward: the layer y = x ∘ x with Δx = 2x ∘ Δ,
// and the same without the 2.
func ExampleComplexStep() {
	p := hand.Parameters[float64]{"x": hand.NewMatrix(1, 3, 0.5, -1, 2)}
	delta := hand.NewMatrix(1, 3, 1.0, 2, 3)

	truth, err := verify.ComplexStep(func(z hand.Parameters[complex128]) (complex128, error) {
		y := z["x"].Square().Mul(hand.Lift[complex128](delta)).Sum()
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

// Every gradient of a complete model by hand is compared with autodiff, the kernels and the complex step.
func ExampleCheck() {
	var c gpt.Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd, c.Bias, c.Head = 6, 11, 2, 2, 8, true, "tied"
	m, err := verify.NewModel(c, 2, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := verify.Check(m)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.OK(), r.Parameters == m.Count(), r.Worst < 1e-12)
	// Output:
	// true true true
}
