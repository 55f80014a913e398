package gpt

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// newOptimizer makes the one that c names, at the given number of steps done.
func newOptimizer(c Config, params []graph.Expr, done int) (optim.Optimizer, error) {
	if c.Optimizer == "sgd" {
		o, err := optim.NewSGD(params)
		if err != nil {
			return nil, err
		}
		o.Momentum, o.Decay, o.Clip, o.Steps = c.Beta1, c.WeightDecay, c.GradClip, done
		return o, nil
	}
	o, err := optim.NewAdamW(params)
	if err != nil {
		return nil, err
	}
	o.Beta1, o.Beta2, o.Decay, o.Clip, o.Steps = c.Beta1, c.Beta2, c.WeightDecay, c.GradClip, done
	return o, nil
}
