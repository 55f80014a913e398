package graph

import (
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"gorgonia.org/tensor"
)

// store holds the parameters of a graph and its siblings, by name. A running program holds the lock for reading;
// declaring or changing a parameter holds it exclusively. The lock is a pointer, so that holding it does not keep the
// parameters from being collected.
type store struct {
	*sync.RWMutex
	params  map[string]*tensor.Dense
	packed  map[string]*packedMatrix // the packed parameters; nil for a graph that trains
	changes uint64                   // the number of Exclusive calls so far
}

func newStore() *store { return &store{RWMutex: new(sync.RWMutex), params: map[string]*tensor.Dense{}} }

// packedMatrix is a parameter in a packed format: (in, out), or stored as (out, in) if transposed.
type packedMatrix struct {
	ops.Weights
	transposed bool
	loose      *tensor.Dense // its numbers in float32; nil until they are needed
}

// shape returns the shape of the parameter.
func (m *packedMatrix) shape() []int {
	k, n := m.Size()
	if m.transposed {
		return []int{n, k}
	}
	return []int{k, n}
}
