package train

import (
	"context"
	"math"
	"sync"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pkg/errors"
)

// Task describes the network of a run and the batches on which it is trained.
type Task struct {
	// Build builds the network on an empty Graph, and returns its loss and the parameters to train. The Training may
	// freeze some of these. Build may be called again with another Graph.
	Build func(g *graph.Graph) (loss graph.Expr, params []graph.Expr, err error)
	// Fill puts a micro-batch into the network and returns its number of tokens. step and micro count from 0.
	Fill      func(step, micro int) (tokens int, err error)
	Optimizer Optimizer
	Hooks              // Loss is not used: Build returns the loss
	Blocks    []string // scopes whose activations are dropped if the Run has Recompute
	FLOPs     float64  // per token
	Done      int      // number of steps already done when a run is resumed

	// Facts, which is optional, returns further lines on which the machines of a Group must agree, such as the corpus.
	// Each line is a name and a value; the number of lines never changes.
	Facts func() []string
}

// Core trains the network of a Task: accumulated gradients, clipping, the optimizer, and the schedule of the learning
// rate. What a step computes depends only on Done, the weights, the moments and the batch from Fill, so a run whose
// state is restored resumes bit-identically.
type Core struct {
	Done int     // number of steps done, 0 to 2²⁸
	Best float64 // the lowest validation loss so far, +∞ before the first

	// Group is the group of machines that train together: that of the Task, or one set before the first Step. It is
	// nil if this machine trains alone. Each machine computes an equal part of a step's micro-batches, and the result
	// is the same to the bit regardless of their number, a power of two that divides GradientAccumulationSteps. All
	// must build the same Core, draw the same batches and do the same Steps. After an error on one of them the group
	// cannot be used: every machine must end.
	Group dist.Group

	same      bool // compare has found no difference between the group's machines
	training  Training
	limits    Run
	task      Task
	graph     *graph.Graph
	loss      graph.Expr
	params    []graph.Expr // parameters to train
	optimizer *optim.Optimizer
	backward  *graph.Program // loss and gradients
	forward   *graph.Program // the loss alone; nil before the first evaluation
	busy      sync.Mutex     // held while it trains or evaluates
}

// New builds the network and everything needed to train it.
func New(t Training, r Run, task Task) (*Core, error) {
	t.Precision = t.precision()
	c := &Core{Done: task.Done, Best: math.Inf(1), training: t, limits: r, task: task, Group: task.Group}
	_, err := graph.Build(graph.Float32, t.Seed, func(g *graph.Graph) (err error) {
		c.graph = g
		Configure(g, t, r)
		g.SetContext(r.Context)
		defer g.SetContext(context.Background()) // a context that never ends
		if c.loss, c.params, err = task.Build(g); err != nil {
			return err
		}
		if err := t.Frozen.Check(names(c.params)); err != nil {
			return err
		}
		c.params = t.Frozen.Rest(c.params)
		if r.Recompute {
			g.Recompute(task.Blocks...)
		}
		c.backward, err = graph.Compile(c.loss, c.params...)
		return errors.Wrap(err, "trainer")
	})
	if err != nil {
		return nil, err
	}
	if c.optimizer, err = c.newOptimizer(); err == nil {
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
	o.Clip, o.Decay, o.Steps = t.GradClip, t.WeightDecay, c.task.Done
	o.Tree(t.GradientAccumulationSteps)
	return o, nil
}

// begin locks c for one goroutine, until c.busy is unlocked.
func (c *Core) begin() error {
	switch {
	case c == nil || c.backward == nil:
		return errors.New("trainer: nothing to train, want a Core from New")
	case c.Done < 0 || c.Done > field.MaxSize:
		return errors.Errorf("trainer: Done: got %d steps, want 0 to %d", c.Done, field.MaxSize)
	case math.IsNaN(c.Best):
		return errors.New("trainer: Best: got NaN, want a loss, or +Inf before the first")
	case !c.busy.TryLock():
		return errors.New("trainer: in use by another goroutine")
	}
	return nil
}

// Loss returns the loss of the batch that is in the network, without dropout.
func (c *Core) Loss(ctx context.Context) (loss float64, err error) {
	if ctx == nil {
		return 0, errors.New("evaluate: no context (nil)")
	}
	if err := c.begin(); err != nil {
		return 0, errors.Wrap(err, "evaluate")
	}
	defer c.busy.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, errors.Wrap(err, "evaluate")
	}
	if c.forward == nil {
		if c.forward, err = graph.Compile(c.loss); err != nil {
			return 0, errors.Wrap(err, "evaluate")
		}
	}
	c.graph.SetTraining(false)
	loss, err = c.run(c.forward)
	return loss, errors.Wrap(err, "evaluate")
}

// run returns the loss of a program, which must be finite.
func (c *Core) run(p *graph.Program) (float64, error) {
	if err := p.Run(); err != nil {
		return 0, err
	}
	loss := p.Loss()
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return 0, c.diagnose(loss)
	}
	return loss, nil
}

// diagnose returns an error that names the reason for a loss that is not finite: a weight, or otherwise the loss
// itself.
func (c *Core) diagnose(loss float64) error {
	for _, p := range c.graph.Params() {
		if err := p.Tensor().Finite(p.Name()); err != nil {
			return err
		}
	}
	return errors.Wrapf(graph.ErrNotFinite, "the loss is %v, all weights are finite", loss)
}
