package structured_test

import (
	"fmt"
	"log"

	"github.com/pedestrian-ml/pedestrian/internal/structured"
)

// A head whose tokens attend mostly to themselves, less to the previous token, and a little to the first.
func ExampleCompare() {
	const n = 8
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n)
		a[i][i] = 0.7
		a[i][max(i-1, 0)] += 0.2
		a[i][0] += 0.1
	}
	s := structured.Settings{Width: 2, Tokens: 1, Drop: 0.3, Epsilon: 0.01, Share: 0.1, Draws: 30, Seed: 1}
	table, err := structured.Compare([][][]float64{a}, s)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(table)
	// Output:
	// head  X     |A−X|    mean    |A−band|
	// 0     Σ1+Ẽ  4.1904   0.0655  0.5000
	// 0     Σ2+Ẽ  7.0137   0.1096  0.5000
	// 0     Σ3+Ẽ  4.9943   0.0780  0.5000
	// 0     0     8.0000   0.1250  0.5000
	// 0     I     4.2000   0.0656  0.5000
	// 0     1/n   11.0500  0.1727  0.5000
	// 0     band  0.5000   0.0078  0.5000
}
