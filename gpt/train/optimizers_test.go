package train

import (
	"math"
	"testing"
)

// All settings of a Training reach the optimizer: two steps on (w₀ − x)² + w₁² follow the recurrences, with momentum,
// decay, and a clip that the first gradient, of norm √20, exceeds, and the second one, too.
func TestOptimizersUseTheTraining(t *testing.T) {
	const rate, b1, b2, decay, clip = 0.25, 0.5, 0.75, 0.1, 1.0
	var w, m, v [2]float64
	gradient := func(step int) (g [2]float64) {
		g = [2]float64{2 * (w[0] - float64(step)), 2 * w[1]}
		norm := math.Hypot(g[0], g[1])
		return [2]float64{g[0] * clip / norm, g[1] * clip / norm}
	}
	for name, update := range map[string]func(i, step int, g float64) float64{
		"sgd": func(i, _ int, g float64) float64 {
			m[i] = b1*m[i] + g
			return m[i] + decay*w[i]
		},
		"adamw": func(i, step int, g float64) float64 {
			m[i], v[i] = b1*m[i]+(1-b1)*g, b2*v[i]+(1-b2)*g*g
			n := float64(step + 1)
			return m[i]/(1-math.Pow(b1, n))/(math.Sqrt(v[i]/(1-math.Pow(b2, n)))+1e-8) + decay*w[i]
		},
	} {
		w, m, v = [2]float64{2, 2}, [2]float64{}, [2]float64{}
		training := Training{Optimizer: name, LearningRate: rate, WeightDecay: decay, Beta1: b1, Beta2: b2, GradClip: clip,
			GradientAccumulationSteps: 1}
		core, param := descent(t, training, map[string]Optimizer{"adamw": AdamW, "sgd": SGD}[name], func(step, _ int) float64 { return float64(step) })
		for step := range 2 {
			if _, err := core.Step(); err != nil {
				t.Fatal(err)
			}
			for i, g := range gradient(step) {
				w[i] -= rate * update(i, step, g)
			}
			for i, got := range param.Tensor().Floats() {
				if !(math.Abs(got-w[i]) <= 1e-5) {
					t.Errorf("%s, step %d: w[%d] is %v, want %v", name, step, i, got, w[i])
				}
			}
		}
	}
}
