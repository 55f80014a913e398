package gpt

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// loss returns the cross entropy, or the hook's loss, which must be a scalar.
func (c Config) loss(s graph.Scope, logits, targets graph.Expr) (loss graph.Expr) {
	if c.Hooks.Loss == nil {
		return nn.NewCrossEntropy(s).Forward(logits, targets)
	}
	ok := s.Try(func() { loss = c.Hooks.Loss(logits.In(s), targets.In(s)) })
	if ok && (loss.Graph() == nil || len(loss.Shape()) > 0) {
		s.Failf("the hook's loss has shape %v, want a scalar", loss.Shape())
	}
	return loss
}
