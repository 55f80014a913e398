package train

import (
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pkg/errors"
)

// shared is an optimizer whose gradients can be those of several machines, as all have that embed *optim.Gradients.
type shared interface {
	Across(m optim.Machines)
	Last(p *graph.Program) error
}

// sharded is an optimizer that can keep a part of its moments, as AdamW and SGD can.
type sharded interface {
	Shard(p *graph.Program) error
	First(name string) int
	Whole(name string, moment graph.Tensor) (graph.Tensor, error)
}

// part is which micro-batches of a step this machine computes: from first to before last.
type part struct {
	first, last int
}

// CheckRanks returns an error unless so many ranks can share the micro-batches of a step.
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
	if p, err = c.join(); err != nil || c.alone() {
		return p, err
	}
	if !c.same || c.Done%compareEvery == 0 {
		if err := c.compare(); err != nil {
			return p, err
		}
		c.same = true
	}
	return p, nil
}

// join has the optimizer share its gradients with the Group, and keep this machine's part of its moments, where the Run
// says so.
func (c *Core) join() (p part, err error) {
	m, n, rank := c.training.GradientAccumulationSteps, 1, 0
	if c.Group != nil {
		n, rank = c.Group.Size(), c.Group.Rank()
	}
	if err := c.training.CheckRanks(n); err != nil {
		return p, err
	}
	p = part{rank * (m / n), (rank + 1) * (m / n)}
	if n == 1 {
		return p, nil
	}
	s, ok := c.optimizer.(shared)
	if !ok {
		return p, errors.Errorf("optimizer %q: %T shares no gradients, want one that embeds *optim.Gradients",
			c.training.Optimizer, c.optimizer)
	}
	s.Across(c.Group)
	if !c.means.ShardOptimizer {
		return p, nil
	}
	o, ok := c.optimizer.(sharded)
	if !ok {
		return p, errors.Errorf("shard_optimizer: optimizer %q, %T, keeps all of its moments, want one such as adamw",
			c.training.Optimizer, c.optimizer)
	}
	return p, o.Shard(c.backward)
}

// sharded reports whether every machine keeps a part of the moments.
func (c *Core) sharded() bool { return c.means.ShardOptimizer && !c.alone() }

// Mine reports whether this machine of the Group computes the loss of batch i of an evaluation; the others leave 0 for
// it in the list that Gather completes.
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
