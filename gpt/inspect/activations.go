package inspect

import (
	"iter"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Activations holds the numbers of activations by the names of their places. They are copies, which later runs do not
// change.
type Activations struct {
	names  []string
	values map[string]graph.Tensor
}

// At returns the activation of that name. If it was not compiled, the error lists the names of those that were.
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
