package train

import (
	"context"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pkg/errors"
)

// New builds the network and everything needed to train it.
func New(t Training, r Run, task Task) (*Core, error) {
	t = t.Resolved()
	c := &Core{Done: task.Done, Best: math.Inf(1), training: t, limits: r, task: task, Group: task.Group}
	_, err := graph.Build(graph.Float32, t.Seed, func(g *graph.Graph) (err error) {
		c.graph = g
		Configure(g, t, r)
		g.SetContext(r.Context)
		defer g.SetContext(context.Background()) // a context that never ends
		if c.loss, c.params, err = task.Build(g); err != nil {
			return err
		}
		if c.evaluated = c.loss; task.Evaluated != nil {
			err := guarded("evaluated", func() error { c.evaluated = task.Evaluated(); return nil })
			if err == nil && c.evaluated.Graph() != g {
				err = errors.New("evaluated: the loss is not of the graph of Build")
			}
			if err != nil {
				return err
			}
		}
		if err := t.Frozen.Check(names(c.params)); err != nil {
			return err
		}
		c.params = t.Frozen.Rest(c.params)
		if r.Recompute {
			g.Recompute(task.Blocks...)
		}
		if task.Loads != nil {
			if err := guarded("loads", func() error { c.loads = task.Loads(); return nil }); err != nil {
				return err
			}
		}
		if task.Carried != nil {
			if err := guarded("carried", func() (err error) {
				c.carry, err = newCarry(task.Carried(), t.GradientAccumulationSteps)
				return err
			}); err != nil {
				return err
			}
		}
		c.backward, err = graph.CompileWith(c.loss, append(counts(c.loads), c.carry.after...), c.params...)
		return errors.Wrap(err, "trainer")
	})
	if err != nil {
		return nil, err
	}
	if c.schedule, err = t.schedule(task.Schedules); err != nil {
		return nil, errors.Wrap(err, "trainer")
	}
	if !(0 <= t.EMA && t.EMA < 1) {
		return nil, errors.Errorf("trainer: ema: got %v, want a number, 0 ≤ x < 1", t.EMA)
	}
	if c.optimizer, err = c.newOptimizer(); err == nil {
		c.averages = c.averagesOf()
		c.showGradients()
	}
	if err == nil && c.Group != nil {
		_, err = c.join()
	}
	if err != nil {
		return nil, errors.Wrap(err, "trainer")
	}
	return c, nil
}

// newOptimizer builds the task's optimizer, which may be user-defined: a panic in it becomes an error.
func (c *Core) newOptimizer() (o *optim.Optimizer, err error) {
	t := c.training
	if c.task.Optimizer == nil {
		return nil, errors.Errorf("optimizer %q: Task.Optimizer is nil: nothing builds it", t.Optimizer)
	}
	var rule optim.Rule
	at := c.graph.Root().Sub("optimizer %q", t.Optimizer)
	if !at.Try(func() {
		if rule = c.task.Optimizer(t); rule != nil {
			o, err = optim.New(c.params, rule)
		}
	}) {
		return nil, c.graph.Err()
	}
	switch {
	case rule == nil:
		return nil, errors.Errorf("optimizer %q: Task.Optimizer has returned no Rule", t.Optimizer)
	case err != nil:
		return nil, errors.Wrapf(err, "optimizer %q", t.Optimizer)
	}
	if c.averaging, _ = rule.(optim.Averaging); c.averaging != nil && t.EMA > 0 {
		return nil, errors.Errorf("ema: got %v with optimizer %q, which averages the weights itself, want 0",
			t.EMA, t.Optimizer)
	}
	o.Clip, o.Decay, o.Steps = t.GradClip, t.WeightDecay, c.task.Done
	o.Tree(t.GradientAccumulationSteps)
	if c.task.Factor != nil {
		for _, p := range c.params {
			o.Rates = append(o.Rates, c.task.Factor(p))
		}
	}
	return o, nil
}

// showGradients passes the gradients of every step to the task's Gradients.
func (c *Core) showGradients() {
	if c.task.Gradients == nil {
		return
	}
	var list []Named
	c.optimizer.Before(func(params []graph.Expr, grads []graph.Tensor) error {
		list = list[:0]
		for i, p := range params {
			list = append(list, Named{Name: p.Name(), Tensor: grads[i]})
		}
		return guarded("gradients", func() error { return c.task.Gradients(c.Done, list) })
	})
}

// Configure sets the switches of a graph to train on: kernels, their threads and precision, and the memory limit. Call
// it before anything is built on g. Evaluations compute in the same precision; decoders and probes, which build their
// own graphs, compute in float32. An unknown precision is an error of g. If g is nil, Configure does nothing.
func Configure(g *graph.Graph, t Training, r Run) {
	if g == nil {
		return
	}
	g.Kernels = t.Kernels
	g.SetThreads(r.Threads)
	g.SetPrecision(t.Resolved().Precision)
	g.SetMemoryLimit(r.Limit())
}
