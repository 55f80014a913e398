package optim

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Across has sum called in every Apply with the sums of all gradients, in float32, to add up those of so many machines,
// each of which has as many micro-batches: the mean is over all of them. An error of sum is that of Apply, which then
// calls no step. The gradients are copied for it. nil is this machine alone.
func (c *Gradients) Across(machines int, sum func(grads []float32) error) {
	if c != nil {
		c.machines, c.across = max(1, machines), sum
	}
}

// gather adds up the sums of all machines.
func (c *Gradients) gather() error {
	grads := c.total()
	for i, x := range c.params {
		if grads[i].F64 != nil {
			return errors.Errorf("%s: %s is of %v, want %v across machines", c.name, x.Name(), graph.Float64, graph.Float32)
		}
	}
	if err := c.across(c.sums[0].flat); err != nil {
		c.Forget()
		return errors.Wrap(err, c.name)
	}
	c.batches *= c.machines
	return nil
}
