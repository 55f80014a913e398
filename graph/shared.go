package graph

import (
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

// Exclusive calls change while no program of g or of a sibling runs; programs that start meanwhile wait. Use it to
// write to parameters that programs in other goroutines read. The optimizers of package optim update in it. The
// function change must neither run a program nor declare a parameter.
func (g *Graph) Exclusive(change func()) {
	if change == nil {
		return
	}
	if g.exists() {
		g.store.Lock()
		defer g.store.Unlock()
		g.store.changes++
	}
	change()
}

// Shared calls read while no Exclusive call changes the parameters of g and its siblings, and returns its error. An
// Exclusive call that begins meanwhile, such as the update of an optimizer, waits until read returns. So read sees the
// parameters of one moment, however long it takes. It may run programs with Reading.Run. It may not call Program.Run,
// Compile, Shared or Exclusive, nor declare a parameter: these could wait for each other forever.
func (g *Graph) Shared(read func(r Reading) error) error {
	switch {
	case read == nil:
		return errors.New("shared: the function is nil")
	case !g.exists():
		return errors.New("shared: no graph, want one from graph.New")
	}
	g.store.RLock()
	defer g.store.RUnlock()
	return read(Reading{g.store})
}

// Reading represents the lock on the parameters that Shared passes to its function. It is valid until that function
// returns.
type Reading struct{ store *store }

// Changes returns the number of Exclusive calls so far. Two equal numbers mean that the parameters have not changed in
// between.
func (r Reading) Changes() uint64 {
	if r.store == nil {
		return 0
	}
	return r.store.changes
}

// Run is like Program.Run, for a program of the graph that Shared was called for, or of a sibling.
func (r Reading) Run(p *Program) error {
	switch {
	case p == nil || p.graph == nil:
		return errNoProgram
	case r.store == nil || p.graph.store != r.store:
		return errors.New("run: the program's graph shares no parameters with the graph of Shared")
	case !p.graph.running.TryLock():
		return errors.Wrap(errRunning, "run")
	}
	defer p.graph.running.Unlock()
	return p.run()
}

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
