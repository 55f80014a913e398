package graph

import (
	"github.com/pkg/errors"
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
