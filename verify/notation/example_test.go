package notation_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/notation"
)

// The derivative of a product is executed line by line.
func ExampleParseDerivation() {
	d, err := notation.ParseDerivation(`
		given x: n×k; w: k×m; Δ: n×m
		y := x·w
		dy = dx·w + x·dw               | the rule for products
		Σ Δ∘dy = Σ (Δ·wᵗ)∘dx + Σ (xᵗ·Δ)∘dw
	`)
	fmt.Println(err, d.Check(20))
	wrong, err := notation.ParseDerivation("given x: 2×2\ny := x·x\ndy = x·dx + x·dx")
	fmt.Println(err, wrong.Check(20) != nil)
	// Output:
	// <nil> <nil>
	// <nil> true
}

// An answer is compared with the derivative of the definitions, and a typical mistake is explained.
func ExampleExercise() {
	e, err := notation.ParseExercise(`
		name: weight
		text: What is the gradient of the weight?
		given: x: n×k; w: k×m; Δ: n×m
		find: Δw
		where: y := x·w
		of: y
		to: w
		answer: xᵗ·Δ
		wrong: x·Δ | The tokens must be summed over: transpose x.
	`)
	if err != nil {
		panic(err)
	}
	fmt.Println(e.Name+":", e.Text)
	for _, g := range e.Given {
		fmt.Printf("given %s (%s, %s)\n", g.Name, g.Rows, g.Cols)
	}
	for _, d := range e.Where {
		fmt.Println("where", d.Name, "=", d.Formula.Text)
	}
	fmt.Printf("find %s, the gradient of %s at %s\n", e.Find, e.Of.Text, e.To)
	fmt.Println("right:", e.Mark(e.Answer.Text).Right)
	v := e.Mark("x^T @ delta")
	fmt.Println(v.Right, v.MathML != "")
	fmt.Println(e.Mark("Δᵗ·x").Hint)
	fmt.Println(e.Mark(e.Wrong[0].Formula.Text).Hint == e.Wrong[0].Hint)
	v = e.MarkFunc(func(named map[string]hand.Matrix[complex128]) hand.Matrix[complex128] {
		return named["x"].Transpose().MatMul(named["Δ"])
	})
	fmt.Println(v.Right)
	// Output:
	// weight: What is the gradient of the weight?
	// given x (n, k)
	// given w (k, m)
	// given Δ (n, m)
	// where y = x·w
	// find Δw, the gradient of y at w
	// right: true
	// true true
	// The result is transposed.
	// true
	// true
}
