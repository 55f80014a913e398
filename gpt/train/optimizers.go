package train

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pkg/errors"
)

// Optimizer is a kind of optimizer that a Training can name.
type Optimizer struct {
	Name string
	// New makes it for the parameters to train, at the given number of steps done.
	New func(params []graph.Expr, t Training, done int) (optim.Optimizer, error)
}

// Optimizers lists the library's, the default first.
func Optimizers() []Optimizer {
	return []Optimizer{{"adamw", newAdamW}, {"sgd", newSGD}}
}

// Names lists the optimizers' names, each once.
func Names(optimizers []Optimizer) (names []string) {
	for _, o := range optimizers {
		if !slices.Contains(names, o.Name) {
			names = append(names, o.Name)
		}
	}
	return names
}

// NewOptimizer makes the one of the list that t names, the first of that name.
func (t Training) NewOptimizer(list []Optimizer, params []graph.Expr, done int) (optim.Optimizer, error) {
	name := t.Resolved().Optimizer
	i := slices.IndexFunc(list, func(o Optimizer) bool { return o.Name == name })
	if i < 0 {
		return nil, errors.Errorf("optimizer: got %q, want one of %q", name, Names(list))
	}
	return list[i].New(params, t, done)
}

func newAdamW(params []graph.Expr, t Training, done int) (optim.Optimizer, error) {
	o, err := optim.NewAdamW(params)
	if err != nil {
		return nil, err
	}
	o.Beta1, o.Beta2, o.Decay, o.Clip, o.Steps = t.Beta1, t.Beta2, t.WeightDecay, t.GradClip, done
	return o, nil
}

func newSGD(params []graph.Expr, t Training, done int) (optim.Optimizer, error) {
	o, err := optim.NewSGD(params)
	if err != nil {
		return nil, err
	}
	o.Momentum, o.Decay, o.Clip, o.Steps = t.Beta1, t.WeightDecay, t.GradClip, done
	return o, nil
}
