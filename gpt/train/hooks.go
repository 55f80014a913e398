package train

import (
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Hooks are what a run does that is code. They are in no file: who resumes a run hands in the same again, for nothing
// can compare them. An optimizer is code as well, but has a name: it is a part. A nil is what the library does.
type Hooks struct {
	// Rate is the learning rate of a step counted from 0, in place of the Training's schedule.
	Rate func(step int) float64

	// Loss is the scalar to be made small, of logits (n, V) and the ids of the targets (n), in place of their mean
	// cross entropy. A target of text.Ignore is to count for nothing. What is evaluated is this loss, too.
	Loss func(logits, targets graph.Expr) graph.Expr

	// Gradients is shown the gradient of every parameter that is trained, the mean of the micro-batches, before they
	// are clipped, and may write to them. The step is counted from 0. An error is that of the step, which then is not
	// done.
	Gradients func(step int, grads []Named) error

	// Group is the machines that train together, nil this one alone: see Core.Group, which it becomes. Where the
	// moments are divided among them, each reads its part alone when a run is resumed.
	Group dist.Group
}

// gradual is an optimizer that shows its gradients, as all do that embed *optim.Gradients.
type gradual interface {
	Before(f func(params []graph.Expr, grads []graph.Tensor) error)
}

// showGradients hands the gradients of every step to the task's Gradients.
func (c *Core) showGradients() error {
	if c.task.Gradients == nil {
		return nil
	}
	o, ok := c.optimizer.(gradual)
	if !ok {
		return errors.Errorf("optimizer %q: %T shows no gradients, want one that embeds *optim.Gradients", c.training.Optimizer, c.optimizer)
	}
	var list []Named
	o.Before(func(params []graph.Expr, grads []graph.Tensor) error {
		list = list[:0]
		for i, p := range params {
			list = append(list, Named{Name: p.Name(), Tensor: grads[i]})
		}
		return guarded("gradients", func() error { return c.task.Gradients(c.Done, list) })
	})
	return nil
}

// rate returns the learning rate of the next step.
func (c *Core) rate() (lr float64, err error) {
	if c.task.Rate == nil {
		return c.training.RateAt(c.Done), nil
	}
	err = guarded("rate", func() error { lr = c.task.Rate(c.Done); return nil })
	return lr, err
}

// guarded is f, whose panic is an error that names the hook.
func guarded(hook string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.WithMessage(graph.Panicked(r), hook)
		}
	}()
	return errors.Wrap(f(), hook)
}
