package gpt

import "github.com/pedestrian-ml/pedestrian/graph"

// optimizer is what a step needs of one.
type optimizer interface {
	Accumulate(p *graph.Program) error
	Update(p *graph.Program, lr float64) (norm float64, err error)
	Moments(f func(name string, m, v graph.Tensor))
}

// newOptimizer makes the one that c names, at the given number of steps done.
func newOptimizer(c Config, params []graph.Expr, done int) (optimizer, error) {
	if c.Optimizer == "sgd" {
		o, err := graph.NewSGD(params)
		if err != nil {
			return nil, err
		}
		o.Momentum, o.Decay, o.Clip, o.Steps = c.Beta1, c.WeightDecay, c.GradClip, done
		return o, nil
	}
	o, err := graph.NewAdamW(params)
	if err != nil {
		return nil, err
	}
	o.Beta1, o.Beta2, o.Decay, o.Clip, o.Steps = c.Beta1, c.Beta2, c.WeightDecay, c.GradClip, done
	return o, nil
}
