package train

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pkg/errors"
)

// share holds the indices of the micro-batches of a step that this machine computes: from first to before last.
type share struct {
	first, last int
}

// CheckRanks returns an error unless n ranks can share the micro-batches of a step.
func (t Training) CheckRanks(n int) error {
	m := t.GradientAccumulationSteps
	if m < 1 {
		return errors.Errorf("gradient_accumulation_steps: got %d, want at least 1", m)
	}
	if err := dist.CheckSize(n); err != nil {
		return err
	}
	if m%n != 0 {
		return errors.Errorf("gradient_accumulation_steps: got %d for %d ranks, "+
			"want a multiple of %d such as %d, or at most %d ranks", m, n, n, (m+n-1)/n*n, m&-m)
	}
	return nil
}

// join makes the optimizer share its gradients with the Group and, if the Run has ShardOptimizer, keep only this
// machine's part of its moments.
func (c *Core) join() (mine share, err error) {
	m, n, rank := c.training.GradientAccumulationSteps, 1, 0
	if c.Group != nil {
		n, rank = c.Group.Size(), c.Group.Rank()
	}
	if err := c.training.CheckRanks(n); err != nil {
		return mine, err
	}
	mine = share{rank * (m / n), (rank + 1) * (m / n)}
	if n == 1 {
		return mine, nil
	}
	c.optimizer.Across(c.Group)
	if !c.limits.ShardOptimizer {
		return mine, nil
	}
	return mine, errors.Wrap(c.optimizer.Shard(c.backward), "shard_optimizer")
}

// sharded reports whether every machine keeps a part of the moments.
func (c *Core) sharded() bool { return c.limits.ShardOptimizer && !c.alone() }

// gather adds up the lists of all machines of the Group. In a list of losses, each entry comes from one machine and is
// 0 on the others, so that adding does not round. Counts are exact up to 2²⁴.
func (c *Core) gather(lists ...[]float64) error {
	if c.alone() {
		return nil
	}
	var x []float32
	for _, v := range slices.Concat(lists...) {
		x = append(x, float32(v)) // exact: the loss was computed in float32
	}
	if err := c.Group.Sum(x); err != nil {
		return err
	}
	for _, list := range lists {
		for i := range list {
			list[i] = float64(x[i])
		}
		x = x[len(list):]
	}
	return nil
}

func (c *Core) alone() bool { return c == nil || c.Group == nil || c.Group.Size() == 1 }
