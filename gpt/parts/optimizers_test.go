package parts_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// byHand holds the updates of the optimizers by the name of the part: step t, from 1, of a weight and its gradient,
// with the moments of the previous step.
var byHand = map[string]func(c train.Training, lr float64, t int, w, g, m, v hand.Matrix[float64]) (w1, m1, v1 hand.Matrix[float64]){
	"adamw": func(c train.Training, lr float64, t int, w, g, m, v hand.Matrix[float64]) (w1, m1, v1 hand.Matrix[float64]) {
		return hand.AdamWUpdate(hand.AdamW{Rate: lr, Beta1: c.Beta1, Beta2: c.Beta2, Eps: 1e-8, Decay: c.WeightDecay}, t, w, g, m, v)
	},
	"sgd": func(c train.Training, lr float64, _ int, w, g, m, v hand.Matrix[float64]) (w1, m1, v1 hand.Matrix[float64]) {
		w1, m1 = hand.SGDUpdate(hand.SGD{Rate: lr, Momentum: c.Beta1, Decay: c.WeightDecay}, w, g, m)
		return w1, m1, v
	},
}

// Three steps of every optimizer of the list agree with its formula by hand, in both types, with momentum and without,
// and reduce the loss. A new optimizer without a formula fails here.
func TestOptimizersByHand(t *testing.T) {
	for _, o := range parts.Optimizers() {
		update := byHand[string(o.Name)]
		if update == nil {
			t.Errorf("%s: no formula by hand in this test", o.Name)
			continue
		}
		for dtype, tolerance := range map[graph.Dtype]float64{graph.Float64: 1e-12, graph.Float32: 1e-6} {
			for _, beta1 := range []float64{0, 0.5} {
				c := train.Training{Beta1: beta1, Beta2: 0.75, WeightDecay: 0.125}
				g := graph.New(dtype, 1)
				x := g.Root().Param("w", graph.Const(0), 2, 3)
				w := hand.NewMatrix(2, 3, 0.5, -2, 1.5, -0.25, 3, -1)
				if err := x.Tensor().Fill(w.Data...); err != nil {
					t.Fatal(err)
				}
				p, err := graph.Compile(x.Square().SumAll(), x)
				if err != nil {
					t.Fatal(err)
				}
				optimizer, err := o.New([]graph.Expr{x}, c, 0)
				if err != nil {
					t.Fatal(err)
				}
				m, v := hand.Zeros[float64](2, 3), hand.Zeros[float64](2, 3)
				loss := math.Inf(1)
				for step := 1; step <= 3; step++ {
					what := fmt.Sprintf("%s, %v, β₁ = %v, step %d", o.Name, dtype, beta1, step)
					if err := p.Run(); err != nil {
						t.Fatal(err)
					}
					if !(p.Loss() < loss) {
						t.Errorf("%s: the loss Σw² goes from %v to %v", what, loss, p.Loss())
					}
					loss = p.Loss()
					if _, err := optimizer.Update(p, 0.1); err != nil {
						t.Fatal(err)
					}
					w, m, v = update(c, 0.1, step, w, w.Scale(2), m, v)
					for i, got := range x.Tensor().Floats() {
						if want := w.Data[i]; !(math.Abs(got-want) <= tolerance) {
							t.Errorf("%s, entry %d: got %v, want %v", what, i, got, want)
						}
					}
				}
			}
		}
	}
}
