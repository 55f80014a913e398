package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Task describes the network of a run and the batches on which it is trained.
type Task struct {
	// Build builds the network on an empty Graph, and returns the loss to minimise and the parameters to train. The
	// Training may freeze some of these. Build may be called again with another Graph.
	Build func(g *graph.Graph) (loss graph.Expr, params []graph.Expr, err error)
	// Fill puts a micro-batch into the network and returns its number of tokens. step and micro count from 0.
	Fill      func(step, micro int) (tokens int, err error)
	Evaluated func() graph.Expr // optional: returns the loss of evaluations, after Build; by default Build's loss
	// Carried, which is optional, returns the states that every step hands on to the next, after Build: Fill is called
	// with those before the micro-batch in the network, and clears the rows with which another text begins.
	Carried   func() []Carried
	Optimizer Optimizer
	Factor    func(p graph.Expr) float64 // optional: the factor on the learning rate of a parameter, above 0
	Schedules []Schedule                 // one's own, in addition to the library's
	Hooks                                // Loss and Fill are not used: Build returns the loss
	Blocks    []string                   // scopes whose activations are dropped if the Run has Recompute
	Loads     func() []nn.Load           // optional: returns the loads of mixtures of experts, after Build
	FLOPs     float64                    // per token
	Done      int                        // number of steps already done when a run is resumed
	// Check, which is optional, returns an error if the Core must not be used, for example because a field of the
	// network has been replaced. Everything that trains, evaluates or saves calls it first.
	Check func() error

	// Corpus, which is optional, returns the SHA-256 of the data that Fill reads, in hexadecimal.
	Corpus func() string
	// Batches, which is optional, is the generator with which Fill draws. It is part of the State, and a step that
	// fails sets it back.
	Batches *rand.PCG
	// Certified, which is optional, describes the run in its certificate. The Text comes from Corpus.
	Certified func() (certificate.Run, error)
	// Facts holds further lines on which the machines of a Group must agree, such as the fields of the network. Each
	// line is a name and a value.
	Facts []string
}

// Core trains the network of a Task: accumulated gradients, clipping, the optimizer, and the schedule of the learning
// rate. What a step computes depends only on Done, the weights, the moments and the batch from Fill, so a run whose
// state is restored resumes bit-identically. A Core is for one goroutine at a time: a call during a call of another
// goroutine is an error.
type Core struct {
	Done int     // number of steps done, 0 to 2²⁸
	Best float64 // the lowest validation loss so far, +∞ before the first

	// Since is the number of evaluations since the one of Best. It is in checkpoints if the Run has Patience.
	Since int

	// Group is the group of machines that train together: the Task's, or one set before the first Step. It is nil if
	// this machine trains alone. Each machine computes an equal part of a step's micro-batches, and the result is the
	// same to the bit regardless of their number, a power of two that divides GradientAccumulationSteps. All must build
	// the same Core, draw the same batches and do the same Steps. After an error on one of them the group cannot be
	// used: every machine must end.
	Group dist.Group

	same      bool // compare has found no difference between the group's machines
	training  Training
	limits    Run
	task      Task
	graph     *graph.Graph
	loss      graph.Expr
	evaluated graph.Expr   // the loss of evaluations
	params    []graph.Expr // parameters to train
	optimizer *optim.Optimizer
	averaging optim.Averaging // the optimizer's rule if it is one, otherwise nil
	averages  []Named         // of params, nil without EMA or averaging
	loads     []nn.Load       // of the mixtures of experts
	schedule  Schedule
	carry     carry
	chain     certificate.Chain
	backward  *graph.Program // loss and gradients
	forward   *graph.Program // the loss alone; nil before the first evaluation

	// busy is held by the goroutine that trains, evaluates or saves: it is the only lock of a trainer. The Graph has
	// one of its own, because programs also run on it without a trainer; it is held for one program, not for a step.
	busy sync.Mutex
}

// begin locks c for one goroutine until c.busy is unlocked.
func (c *Core) begin() (err error) {
	switch {
	case c == nil || c.backward == nil:
		return errors.New("trainer: nothing to train, want a Core from New")
	case !c.busy.TryLock():
		return errors.New("trainer: in use by another goroutine")
	case c.Done < 0 || c.Done > field.MaxSize:
		err = errors.Errorf("trainer: Done: got %d steps, want 0 to %d", c.Done, field.MaxSize)
	case c.Since < 0 || c.Since > field.MaxSize:
		err = errors.Errorf("trainer: Since: got %d evaluations, want 0 to %d", c.Since, field.MaxSize)
	case math.IsNaN(c.Best):
		err = errors.New("trainer: Best: got NaN, want a loss, or +Inf before the first")
	case c.task.Check != nil:
		err = c.task.Check()
	}
	if err != nil {
		c.busy.Unlock()
	}
	return err
}

// corpus returns the SHA-256 of the data that the task reads.
func (c *Core) corpus() string {
	if c.task.Corpus == nil {
		return ""
	}
	return c.task.Corpus()
}

// run returns the loss of a program, which must be finite.
func (c *Core) run(p *graph.Program) (float64, error) {
	if err := p.Run(); err != nil {
		return 0, err
	}
	loss := p.Loss()
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return 0, c.diagnose(p, loss)
	}
	return loss, nil
}

// diagnose returns an error that names the reason for a loss of p that is not finite: a weight, or otherwise the first
// operation whose result is not finite.
func (c *Core) diagnose(p *graph.Program, loss float64) error {
	for _, p := range c.graph.Params() {
		if err := p.Tensor().Finite(p.Name()); err != nil {
			return err
		}
	}
	said := fmt.Sprintf("the loss is %v, all weights are finite", loss)
	if err := p.NotFinite(); err != nil {
		return errors.WithMessage(err, said+"; first")
	}
	return errors.Wrap(graph.ErrNotFinite, said)
}

// origin adds to the error of a gradient that is not finite where the backward pass of the last micro-batch met the
// first such gradient: from there on all layers below have one.
func (c *Core) origin(err error) error {
	if !errors.Is(err, graph.ErrNotFinite) {
		return err
	}
	for _, x := range c.backward.Watch(nil) {
		if bad := c.backward.Grad(x).Finite(x.Name()); bad != nil {
			return errors.WithMessagef(err, "the backward pass met the first one at %s", x.Name())
		}
	}
	return err
}
