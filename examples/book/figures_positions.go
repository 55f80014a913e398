package main

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// figureSinusoids shows the waves of eight places, and the products of their rows.
func figureSinusoids() (string, error) {
	const places, hands = 8, 3
	p := hand.Sinusoids(places, 2*hands, 1000)
	products := p.MatMul(p.Transpose()).Scale(1. / hands)
	var names, columns []string
	for i := range places {
		names, columns = append(names, fmt.Sprintf("place %d", i)), append(columns, fmt.Sprint(i))
	}
	waves := []string{"sin", "cos", "sin", "cos", "sin", "cos"}
	return heats(heat{"waves", p, names, waves, 2}, heat{"products", products, nil, columns, 2}), products.Err
}
