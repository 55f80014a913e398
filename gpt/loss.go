package gpt

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// loss returns the cross entropy, or what the hook makes, which has to be a scalar.
func (c Config) loss(s graph.Scope, logits, targets graph.Expr) (loss graph.Expr) {
	if c.Hooks.Loss == nil {
		return nn.NewCrossEntropy(s).Forward(logits, targets)
	}
	made := s.Try(func() { loss = c.Hooks.Loss(logits.In(s), targets.In(s)) })
	if made && (loss.Graph() == nil || len(loss.Shape()) > 0) {
		s.Failf("the hook's has shape %v, want a scalar", loss.Shape())
	}
	return loss
}
