package graph

import (
	"sync"

	"gorgonia.org/tensor"
)

// store is the parameters of a graph and its siblings, by name. Programs that run hold it for reading, what declares or
// changes parameters for itself alone.
type store struct {
	sync.RWMutex
	params map[string]*tensor.Dense
	packed map[string]*packedMatrix // those that are kept in fewer bits, nil of a graph that trains
}

// Exclusive calls change while no program of g or of a sibling runs, and keeps those that begin waiting: for what writes
// to parameters that programs in other goroutines read. The optimizers of package optim update in it. change may
// neither run a program nor declare a parameter.
func (g *Graph) Exclusive(change func()) {
	if change == nil {
		return
	}
	if g.exists() {
		g.store.Lock()
		defer g.store.Unlock()
	}
	change()
}
