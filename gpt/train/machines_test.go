package train

import (
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// A machine whose numbers have changed is detected at the next comparison, with the tensor's name. One that fails in a
// step, or draws a batch that is not finite, ends the others with its error.
func TestMachinesDrift(t *testing.T) {
	const at = 30
	for want, change := range map[string]func(step int, w graph.Tensor, x *float64){
		"rank 1: step 101: got w ": func(step int, w graph.Tensor, _ *float64) {
			if step == at {
				w.Set(1, w.At(1)+1)
			}
		},
		"rank 1: step 31: the loss is ": func(step int, _ graph.Tensor, x *float64) {
			if step == at {
				*x = 1e30
			}
		},
		"rank 1: step 31: w: entry 0 is NaN": func(step int, w graph.Tensor, _ *float64) {
			if step == at {
				w.Set(0, math.NaN())
			}
		},
	} {
		training := Training{LearningRate: 0.01, GradientAccumulationSteps: 4, Beta1: .9, Beta2: .99, Seed: 1}
		x := make([]float64, 2)
		var cores []*Core
		var weights []*graph.Expr
		for rank := range 2 {
			c, w := descent(t, training, adamw, func(_, micro int) float64 { return float64(micro) + x[rank] })
			cores, weights = append(cores, c), append(weights, w)
		}
		steps := 0
		err := dist.Run(t.Context(), 2, func(g dist.Group) error {
			c := cores[g.Rank()]
			c.Group = g
			for c.Done < 250 {
				if g.Rank() == 1 {
					change(c.Done, weights[1].Tensor(), &x[1])
					steps = c.Done
				}
				if _, err := c.Step(); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got error %v after %d steps, want %q", err, steps, want)
		}
	}
}
