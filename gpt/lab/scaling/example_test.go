package scaling_test

import (
	"fmt"
	"log"

	"github.com/pedestrian-ml/pedestrian/gpt/lab/scaling"
)

// Twelve models were trained: four sizes, each with 5, 20 and 80 tokens per parameter. The thirteenth is four times as
// large as the largest of them.
func Example() {
	losses := [][]float64{{3.806, 3.407, 3.133}, {2.880, 2.617, 2.461}, {2.287, 2.119, 2.022}, {1.895, 1.801, 1.736}}
	var points []scaling.Point
	for i, n := range []float64{2e4, 8e4, 3.2e5, 1.28e6} {
		for j, ratio := range []float64{5, 20, 80} {
			points = append(points, scaling.Point{N: n, D: n * ratio, Loss: losses[i][j]})
		}
	}
	e, err := scaling.Bootstrap(points, 1000, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("L(N, D) = %.2f + %.1f·N^−%.2f + %.1f·D^−%.2f\n", e.E, e.A, e.Alpha, e.B, e.Beta)
	fmt.Printf("alpha: %.2f to %.2f\n", e.Intervals.Alpha.Low, e.Intervals.Alpha.High)

	interval, err := e.Predict(5.12e6, 1.024e8)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("new run: %.3f, between %.3f and %.3f; 1.59 is in the interval: %t\n",
		e.At(5.12e6, 1.024e8), interval.Low, interval.High, interval.Contains(1.59))

	n, d, err := e.Best(1e15)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("best for 10¹⁵ FLOPs: %.2g parameters, %.2g tokens\n", n, d)
	// Output:
	// L(N, D) = 1.20 + 29.5·N^−0.30 + 57.6·D^−0.34
	// alpha: 0.28 to 0.32
	// new run: 1.589, between 1.577 and 1.607; 1.59 is in the interval: true
	// best for 10¹⁵ FLOPs: 1.1e+07 parameters, 1.5e+07 tokens
}

// The constants that Hoffmann et al. report give the losses of nine models, and the losses give the constants. Gopher
// was nine times as large as the law recommends for its budget.
func ExampleFit() {
	want := scaling.Law{E: 1.69, A: 406.4, B: 410.7, Alpha: 0.34, Beta: 0.28}
	var points []scaling.Point
	for _, n := range []float64{1e8, 1e9, 1e10} {
		for _, d := range []float64{3e9, 3e10, 3e11} {
			points = append(points, scaling.Point{N: n, D: d, Loss: want.At(n, d)})
		}
	}
	law, err := scaling.Fit(points)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("E %.2f, A %.1f, B %.1f, alpha %.2f, beta %.2f\n", law.E, law.A, law.B, law.Alpha, law.Beta)

	n, d, err := law.Best(5.76e23)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Gopher: %.3f; best: %.1fe9 parameters, %.1fe12 tokens, %.3f\n",
		law.At(2.8e11, 3e11), n/1e9, d/1e12, law.At(n, d))
	// Output:
	// E 1.69, A 406.4, B 410.7, alpha 0.34, beta 0.28
	// Gopher: 1.993; best: 32.2e9 parameters, 3.0e12 tokens, 1.931
}
