package main

import (
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// figureBaseline shows how fast REINFORCE finds the best action, with and without a baseline.
func figureBaseline() (string, error) {
	const steps, runs, rate = 300, 40, 0.2
	rewards := []float64{10, 10.5, 10, 11}
	var curves []curve
	for _, baseline := range []bool{false, true} {
		c := curve{name: "without a baseline"}
		if baseline {
			c.name = "minus the mean"
		}
		best := make([]float64, steps+1)
		for run := range uint64(runs) {
			random := rand.New(rand.NewPCG(17, run))
			z, sum := hand.Zeros[float64](1, len(rewards)), 0.
			for step := range best {
				p := z.Softmax()
				best[step] += p.At(0, len(rewards)-1) / runs
				action, left := 0, random.Float64()
				for ; action < len(rewards)-1 && left >= p.At(0, action); action++ {
					left -= p.At(0, action)
				}
				advantage := rewards[action]
				sum += rewards[action]
				if baseline {
					advantage -= sum / float64(step+1)
				}
				one := hand.NewMatrix(1, 1, 1.)
				delta, _ := hand.Reinforce[float64]{Rollout: hand.Rollout{
					Actions: []int{action}, Advantages: hand.NewMatrix(1, 1, advantage), Weights: one,
				}}.Backward(z, one)
				if z = z.Sub(delta.Scale(rate)); z.Err != nil {
					return "", z.Err
				}
			}
		}
		for step := 0; step <= steps; step += 5 {
			c.x, c.y = append(c.x, float64(step)), append(c.y, best[step])
		}
		curves = append(curves, c)
	}
	return chart("steps", "probability of the best", curves...), nil
}
