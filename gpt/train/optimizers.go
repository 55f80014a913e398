package train

import "github.com/pedestrian-ml/pedestrian/graph/optim"

// Optimizer is a function that returns the rule of an optimizer with the settings of a Training, such as Beta1. Decay,
// clipping and accumulation are the same for all rules.
type Optimizer func(t Training) optim.Rule

// moments returns the number of moments that the rule keeps for every parameter. It is 2, as for AdamW, if o cannot
// build the rule: New returns the reason.
func (o Optimizer) moments(t Training) (n int) {
	defer func() {
		if recover() != nil {
			n = 2
		}
	}()
	s, _ := o(t).State()
	return s.Moments
}
