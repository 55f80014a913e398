package train

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// Optimizer is a function that returns an optimizer of the parameters to train, after the given number of steps done.
type Optimizer func(params []graph.Expr, t Training, done int) (optim.Optimizer, error)

// AdamW is the Optimizer that reads both betas.
func AdamW(params []graph.Expr, t Training, done int) (optim.Optimizer, error) {
	o, err := optim.NewAdamW(params)
	if err != nil {
		return nil, err
	}
	o.Beta1, o.Beta2, o.Decay, o.Clip, o.Steps = t.Beta1, t.Beta2, t.WeightDecay, t.GradClip, done
	return o, nil
}

// SGD is the Optimizer whose momentum is Beta1.
func SGD(params []graph.Expr, t Training, done int) (optim.Optimizer, error) {
	o, err := optim.NewSGD(params)
	if err != nil {
		return nil, err
	}
	o.Momentum, o.Decay, o.Clip, o.Steps = t.Beta1, t.WeightDecay, t.GradClip, done
	return o, nil
}
