package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

// ByHand returns the loss of m in nats and its gradients in float64, as the formulas of verify/hand derive them and
// Check compares them: each with its symbol and its equation in the paper, in the order of the model. Gradients of Δ
// are among them. It is an error if a part of m has no formula.
func (m Model) ByHand() (loss float64, gradients hand.Gradients[float64], err error) {
	err = guarded(func() error {
		s, err := m.subject()
		if err != nil {
			return err
		}
		var plan variants.Plan
		_, err = graph.Build(reference.dtype(), m.Seed, func(g *graph.Graph) error {
			reference.set(g, m.Step)
			if _, err := m.in(g); err != nil {
				return err
			}
			plan, err = s.plan(g)
			return err
		})
		if err != nil {
			return err
		}
		model, err := variants.Model(plan, s.parameters)
		if err != nil {
			return err
		}
		value := model.Forward(s.text)
		if value.Err != nil {
			return value.Err
		}
		loss = value.Data[0]
		gradients, err = model.Backward(s.text)
		return err
	})
	return loss, gradients, err
}
