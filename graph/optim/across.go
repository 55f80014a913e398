package optim

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Machines are those that train together, each on as many micro-batches: a dist.Group is what they are to gradients.
// All call the same methods in the same order.
type Machines interface {
	// Size is their number, this one included.
	Size() int
	// Sum replaces x by its sum over all.
	Sum(x []float32) error
	// Part is which of Size() parts this one has of what is divided.
	Part() int
	// Scatter leaves this one its part of that sum: borders are the Size()+1 of all parts.
	Scatter(x []float32, borders []int) error
	// Gather completes x, of which every machine has its part.
	Gather(x []float32, borders []int) error
}

// Across has every Apply take the mean over the micro-batches of all machines, in float32. The gradients are copied for
// it. An error of theirs is that of Apply, which then calls no step. nil is this machine alone.
func (c *Gradients) Across(m Machines) {
	if c != nil {
		c.machines = m
	}
}

// Last says that p's next run is that of the step's last micro-batch. Its gradients are then added up across machines
// while the backward pass goes on: those that are whole go on their way, some megabytes at a time, and Apply waits for
// the rest. A machine alone has nothing to do.
func (c *Gradients) Last(p *graph.Program) error {
	if c == nil || len(c.params) == 0 {
		return errNoParams
	}
	if c.machines == nil {
		return nil
	}
	if err := c.divide(p); err != nil {
		return err
	}
	return c.depart(p)
}

// arrived adds up what p's last run has, and waits until that of all machines is in the one sum that is left.
func (c *Gradients) arrived(p *graph.Program) error {
	if c.flight == nil { // nobody has said that this is the last
		if err := c.Accumulate(p); err != nil {
			return err
		}
		c.total()
		for i := range c.buckets {
			if err := c.send(&c.buckets[i]); err != nil {
				return errors.Wrap(err, c.name)
			}
		}
	} else if err := c.land(); err != nil {
		return errors.Wrap(err, c.name)
	}
	c.batches *= c.machines.Size()
	return nil
}

// send adds up a bucket over the machines: all of it, or where the optimizer is shared this one's part.
func (c *Gradients) send(b *bucket) error {
	x := c.sums[0].flat[b.from:b.to]
	if c.scattered() {
		return c.machines.Scatter(x, b.borders)
	}
	return c.machines.Sum(x)
}
