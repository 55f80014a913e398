package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Program is a compiled expression, with its gradients if it was compiled with any. Compile creates it.
type Program struct {
	graph *Graph
	plan  *plan.Program
	ids   []Expr // the integer inputs
	stock []string
	ran   bool // the last run, if any, succeeded
	value Tensor
	kept  map[*G.Node]Tensor // results of the expressions to keep
	grads map[*G.Node]Tensor // expression that the output is differentiated by → gradient
	done  []finished
}

// errRunning is the error for two goroutines that use one graph at the same time.
var errRunning = errors.New("a program of the graph is running: run a second one on a Sibling")

var errNoProgram = errors.New("run: no program: create one with Compile")

// Run computes the output and the gradients for the current numbers of parameters and inputs. If an integer is out of
// range, it returns an error and computes nothing. Programs of one graph run one at a time: starting a second one is an
// error.
func (p *Program) Run() error {
	if err := p.hold(); err != nil {
		return err
	}
	defer p.release()
	return p.run()
}

// hold keeps other programs of the graph from running, and its parameters from changing, until release. It returns an
// error if another program runs.
func (p *Program) hold() error {
	if p == nil || p.graph == nil {
		return errNoProgram
	}
	if !p.graph.running.TryLock() {
		return errors.Wrap(errRunning, "run")
	}
	p.graph.store.RLock()
	return nil
}

// release undoes hold.
func (p *Program) release() {
	p.graph.store.RUnlock()
	p.graph.running.Unlock()
}

// run is like Run, for a caller that holds the graph and, for reading, its parameters.
func (p *Program) run() error {
	p.ran = false
	for _, x := range p.ids {
		for i, id := range x.Ints() {
			if !x.ids.accepts(id) {
				return errors.Errorf("%s[%d] is %d, not in 0 … %d", x.name, i, id, x.ids.limit-1)
			}
		}
	}
	p.graph.ops.Run.Begin(len(p.grads) > 0)
	if err := p.plan.Run(); err != nil {
		return errors.Wrap(err, "run")
	}
	p.ran = true
	return nil
}

// Stock returns the names of Gorgonia's own operations in the program, in their order, with their layers: this is where
// a model of kernels loses time.
func (p *Program) Stock() []string {
	if p == nil {
		return nil
	}
	return p.stock
}

// Value returns the output of the last run; empty before the first run, and after a failed one. The next run of any
// program of the graph overwrites it.
func (p *Program) Value() Tensor {
	if p == nil || !p.ran {
		return Tensor{}
	}
	return p.value
}

// Loss returns the output of the last run as one number; NaN before the first run, and after a failed one.
func (p *Program) Loss() float64 { return p.Value().At(0) }

// Kept returns the value of x in the last run. It is empty if CompileWith was not given x, before the first run, and
// after a failed one. The next run of any program of the graph overwrites it.
func (p *Program) Kept(x Expr) Tensor {
	if p == nil || !p.ran {
		return Tensor{}
	}
	return p.kept[x.node]
}

// Grad returns the gradient with respect to x in the last run. It is empty if the Program was not compiled with x,
// before the first run, and after a failed one. The next run of any program of the graph overwrites it.
func (p *Program) Grad(x Expr) Tensor {
	if p == nil || !p.ran {
		return Tensor{}
	}
	return p.grads[x.node]
}

// finished is a gradient, and the step of the plan that completes it.
type finished struct {
	wrt  Expr
	grad Tensor
	step int
}

// Watch makes every later Run call f with each expression that p was compiled to differentiate by, and its gradient, as
// soon as that gradient is complete, while the rest of the backward pass is still to come. Run calls f in its own
// goroutine. The function f may read this gradient and the earlier ones. The order of the calls is the same in every
// run; Watch returns it. A nil f ends the calls.
func (p *Program) Watch(f func(x Expr, grad Tensor)) (order []Expr) {
	if p == nil || p.plan == nil || !p.graph.running.TryLock() {
		return nil
	}
	defer p.graph.running.Unlock()
	for _, d := range p.done {
		order = append(order, d.wrt)
	}
	if p.plan.After = nil; f == nil {
		return order
	}
	next := 0
	p.plan.After = func(step int) {
		if step == 0 {
			next = 0
		}
		for ; next < len(p.done) && p.done[next].step == step; next++ {
			f(p.done[next].wrt, p.done[next].grad)
		}
	}
	return order
}
