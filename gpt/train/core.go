package train

import (
	"context"
	"math"
	"sync"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pkg/errors"
)

// Task is what one run differs from another in: the network, and the batches that it is trained on.
type Task struct {
	// Build makes the network on an empty Graph, and returns its loss and the parameters to train, of which the
	// Training may freeze some. It may be called again with another Graph.
	Build func(g *graph.Graph) (loss graph.Expr, params []graph.Expr, err error)
	// Fill puts a micro-batch into the network, both numbers counted from 0, and returns its tokens.
	Fill      func(step, micro int) (tokens int, err error)
	Optimizer Optimizer
	Hooks              // but Loss, which is what Build makes
	Blocks    []string // scopes whose activations are dropped where the Run says Recompute
	FLOPs     float64  // of a token
	Done      int      // steps done before, where a run is resumed

	// Facts are what the machines of a Group have to agree on besides, such as what is trained on: a line each, of a
	// name and its value, and as many every time. nil is nothing.
	Facts func() []string
}

// Core trains the network of a Task: accumulated gradients, clipping, the optimizer, and the schedule of the learning
// rate. What a step does depends on Done, the weights, the moments and what Fill fills in alone, so a run whose state
// is restored resumes bit-identically.
type Core struct {
	Done int     // steps done
	Best float64 // the lowest validation loss so far, +∞ before the first

	// Group is the machines that train together, that of the Task or set before the first Step; nil is this one alone.
	// Each computes an equal part of a step's micro-batches, and what comes out is the same bits whatever their number,
	// a power of two that divides GradientAccumulationSteps. All make the same Core, draw the same batches and do the
	// same Steps. An error on one of them is the end of the group: who sees it ends.
	Group dist.Group

	same      bool // the group's machines train the same
	training  Training
	means     Run
	task      Task
	graph     *graph.Graph
	loss      graph.Expr
	params    []graph.Expr // to train
	optimizer optim.Optimizer
	backward  *graph.Program // loss and gradients
	forward   *graph.Program // loss alone; nil before the first evaluation
	busy      sync.Mutex     // held while it trains or evaluates
}

// New builds the network and what is needed to train it.
func New(t Training, r Run, task Task) (*Core, error) {
	t.Precision = t.precision()
	c := &Core{Done: task.Done, Best: math.Inf(1), training: t, means: r, task: task, Group: task.Group}
	_, err := graph.Build(graph.Float32, t.Seed, func(g *graph.Graph) (err error) {
		c.graph = g
		Configure(g, t, r)
		g.SetContext(r.Context)
		defer g.SetContext(context.Background()) // which never ends
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
		err = c.showGradients()
	}
	if err == nil && c.Group != nil {
		_, err = c.join()
	}
	if err != nil {
		return nil, errors.Wrap(err, "trainer")
	}
	return c, nil
}

// newOptimizer makes that of the task, which may be the user's: a panic in it is an error.
func (c *Core) newOptimizer() (o optim.Optimizer, err error) {
	if c.task.Optimizer == nil {
		return nil, errors.Errorf("optimizer %q: Task.Optimizer is nil: nothing builds it", c.training.Optimizer)
	}
	at := c.graph.Root().Sub("optimizer %q", c.training.Optimizer)
	if !at.Try(func() {
		o, err = c.task.Optimizer(c.params, c.training, c.task.Done)
		if tree, ok := o.(interface{ Tree(n int) }); ok && err == nil { // as all have that embed *optim.Gradients
			tree.Tree(c.training.GradientAccumulationSteps)
		}
	}) {
		return nil, c.graph.Err()
	}
	if o == nil && err == nil {
		err = errors.Errorf("optimizer %q: Task.Optimizer has made none", c.training.Optimizer)
	}
	return o, err
}

// begin holds c for one goroutine, until c.busy is unlocked.
func (c *Core) begin() error {
	switch {
	case c == nil || c.backward == nil:
		return errors.New("trainer: nothing to train, want what a constructor makes")
	case !c.busy.TryLock():
		return errors.New("trainer: in use by another goroutine")
	}
	return nil
}

// Loss is that of the batch which is in the network, without dropout.
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

// run returns the loss of a program that has to be finite.
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

// diagnose names what made the loss what it is: a weight, or else the loss itself.
func (c *Core) diagnose(loss float64) error {
	for _, p := range c.graph.Params() {
		if err := p.Tensor().Finite(p.Name()); err != nil {
			return err
		}
	}
	return errors.Wrapf(graph.ErrNotFinite, "the loss is %v, all weights are finite", loss)
}
