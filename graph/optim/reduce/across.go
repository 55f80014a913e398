package reduce

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Machines is a group of machines that train together, each on the same number of micro-batches; dist.Group implements
// it. All machines call the same methods in the same order.
type Machines interface {
	// Size returns the number of machines, including this one.
	Size() int
	// Sum replaces x by its sum over all machines.
	Sum(x []float32) error
	// Part returns the index of this machine's part, out of Size() parts.
	Part() int
	// Scatter computes the sum over all machines, but completes only this machine's part. The borders are the Size()+1
	// borders of all parts.
	Scatter(x []float32, borders []int) error
	// Gather completes x, of which every machine holds its part.
	Gather(x []float32, borders []int) error
}

// ranks holds what a machine of several needs; a machine alone has none of it.
type ranks struct {
	machines     Machines
	buckets      []bucket
	entire       []bool    // parameters that one machine updates; nil means none
	own          []stretch // this machine's part of every parameter; nil means all
	flight, left *flight   // of this step, and of a step that was given up
}

// Across makes every Apply take the mean over the micro-batches of all machines, in float32. The gradients are copied
// for this. If a method of m fails, Apply returns its error and calls no step. A nil m means this machine alone.
func (c *Gradients) Across(m Machines) {
	if c != nil {
		c.machines = m
	}
}

// Last declares that p's next run is for the step's last micro-batch. Its gradients are then summed across machines
// while the backward pass continues: complete gradients are sent some megabytes at a time, and Apply waits for the
// rest. On a machine alone, Last does nothing.
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

// arrived adds the gradients of p's last run and waits until the only remaining sum includes all machines.
func (c *Gradients) arrived(p *graph.Program) error {
	if c.flight == nil { // Last was not called
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

// send sums a bucket over the machines: all of it, or only this machine's part if the optimizer state is sharded.
func (c *Gradients) send(b *bucket) error {
	x := c.sums[0].flat[b.from:b.to]
	if c.scattered() {
		return c.machines.Scatter(x, b.borders)
	}
	return c.machines.Sum(x)
}
