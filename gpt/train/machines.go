package train

import (
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pkg/errors"
)

// shared is an optimizer whose gradients can be those of several machines, as all have that embed *optim.Gradients.
type shared interface {
	Across(machines int, sum func(grads []float32) error)
}

// part is which micro-batches of a step this machine computes: from first to before last.
type part struct {
	first, last int
}

// CheckRanks is an error unless so many ranks can share the micro-batches of a step.
func (t Training) CheckRanks(n int) error {
	m := t.GradientAccumulationSteps
	if m < 1 {
		return errors.Errorf("gradient_accumulation_steps: got %d, want at least 1", m)
	}
	if err := dist.CheckSize(n); err != nil {
		return err
	}
	if m%n != 0 {
		return errors.Errorf("gradient_accumulation_steps: got %d for %d ranks, want a multiple of %d such as %d, or at most %d ranks",
			m, n, n, (m+n-1)/n*n, m&-m)
	}
	return nil
}

// part divides the micro-batches of a step evenly among the ranks of the Group, in their order: each has a whole branch
// of the tree of sums.
func (c *Core) part() (p part, err error) {
	m, n, rank := c.training.GradientAccumulationSteps, 1, 0
	if c.Group != nil {
		n, rank = c.Group.Size(), c.Group.Rank()
	}
	if err := c.training.CheckRanks(n); err != nil {
		return p, err
	}
	if n > 1 {
		o, ok := c.optimizer.(shared)
		if !ok {
			return p, errors.Errorf("optimizer %q: %T shares no gradients, want one that embeds *optim.Gradients",
				c.training.Optimizer, c.optimizer)
		}
		o.Across(n, c.Group.Sum)
		if !c.same || c.Done%compareEvery == 0 {
			if err := c.compare(); err != nil {
				return p, err
			}
			c.same = true
		}
	}
	return part{rank * (m / n), (rank + 1) * (m / n)}, nil
}

// Mine is whether this machine of the Group computes the loss of batch i of an evaluation; the others leave 0 for it in
// the list that Gather completes.
func (c *Core) Mine(i int) bool { return c.alone() || i%c.Group.Size() == c.Group.Rank() }

// Gather completes a list of losses, of which every machine of the Group has some, and 0 for the rest: as they are, for
// nothing is rounded by adding 0.
func (c *Core) Gather(losses []float64) error {
	if c == nil || c.graph == nil {
		return errors.New("gather: no Core, want one that New makes")
	}
	if c.alone() {
		return nil
	}
	x := make([]float32, len(losses))
	for i, v := range losses {
		x[i] = float32(v) // which it was
	}
	if err := c.Group.Sum(x); err != nil {
		return err
	}
	for i, v := range x {
		losses[i] = float64(v)
	}
	return nil
}

func (c *Core) alone() bool { return c == nil || c.Group == nil || c.Group.Size() == 1 }
