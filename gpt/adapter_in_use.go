package gpt

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/nn"
)

// inUse holds the Adapter that Model.Use has set, and copies of the numbers that it set, which show whether training
// has changed them since.
type inUse struct {
	adapter *Adapter // nil if none is in use
	numbers [][]float64
}

func inUseNow(a *Adapter, layers []*nn.LoRA) inUse { return inUse{a, adapterNumbers(layers)} }

// unchanged returns the adapter if the layers still hold its numbers, otherwise nil.
func (u inUse) unchanged(layers []*nn.LoRA) *Adapter {
	if u.adapter == nil || !slices.EqualFunc(u.numbers, adapterNumbers(layers), slices.Equal) {
		return nil
	}
	return u.adapter
}

// adapterNumbers returns copies of the matrices of all adapters.
func adapterNumbers(layers []*nn.LoRA) (list [][]float64) {
	for _, l := range layers {
		for _, a := range l.Adapters {
			list = append(list, a.Down.Tensor().Floats(), a.Up.Tensor().Floats())
		}
	}
	return list
}
