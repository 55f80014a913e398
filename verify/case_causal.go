package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
	"github.com/pkg/errors"
)

// checkCausal adds a failure for each form of the layer in which a token sees a later one or another text. A layer
// whose number of rows differs from the number of tokens, such as one that pools them, may see all of its text. A loss
// is not checked.
func (c Case) checkCausal(r *Report, layers []*layerForm) error {
	for _, l := range layers {
		shape, x := l.result.Shape(), l.wrt[0]
		if len(shape) != 2 || shape[0]%l.dims.Batch != 0 {
			continue
		}
		err := causal.Check(causal.Model{
			Input: x, Output: l.result, Batch: l.dims.Batch,
			Bidirectional: c.Bidirectional || shape[0] != l.dims.Batch*l.dims.Context,
		})
		leak := (*causal.Leak)(nil)
		switch {
		case errors.As(err, &leak):
			r.Failures = append(r.Failures, l.form.name+": "+leak.Error())
		case err != nil && !errors.Is(err, graph.ErrNotFinite):
			return errors.Wrap(err, l.form.name)
		}
	}
	return nil
}
