package inspect

import (
	"iter"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Activations are numbers by the name of their place. They are copies: later runs leave them as they are.
type Activations struct {
	names  []string
	values map[string]graph.Tensor
}

// At returns the activation of that name; an error says which there are if it was not asked for.
func (a Activations) At(name string) (graph.Tensor, error) {
	t, ok := a.values[name]
	if !ok {
		return t, errors.Errorf("activation %q: got none, want one of %q", name, a.names)
	}
	return t, nil
}

// All returns the names and activations in the order of the network.
func (a Activations) All() iter.Seq2[string, graph.Tensor] {
	return func(yield func(string, graph.Tensor) bool) {
		for _, name := range a.names {
			if !yield(name, a.values[name]) {
				return
			}
		}
	}
}
