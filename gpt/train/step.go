package train

import (
	"cmp"
	"time"

	"github.com/pkg/errors"
)

// Progress describes one step.
type Progress struct {
	Step   int           // its number, from 1
	Loss   float64       // mean over the micro-batches, in nats per token
	Norm   float64       // norm of the gradient before clipping
	LR     float64       // learning rate
	Took   time.Duration // wall-clock time
	Tokens int           // number of tokens trained on in this step
	FLOP   float64       // operations of the matrix products, forward and backward
}

// Step trains on the next batch, completely or not at all. A loss or gradient that is not finite is an error,
// graph.ErrNotFinite, that names the tensor; the next Step then repeats this one. An update that overflows is an error,
// too, but the numbers that it overwrote are lost: resume from a checkpoint.
func (c *Core) Step() (Progress, error) {
	if err := c.begin(); err != nil {
		return Progress{}, err
	}
	defer c.busy.Unlock()
	start, p := time.Now(), Progress{Step: c.Done + 1}
	var losses []float64
	var err error
	if p.LR, err = c.rate(); err == nil {
		losses, err = c.accumulate(&p)
	}
	if err == nil {
		p.Norm, err = c.optimizer.Update(c.backward, p.LR)
	}
	if err == nil || c.alone() {
		err = cmp.Or(err, c.Gather(losses)) // not earlier: gradients are sent until the update
		for _, loss := range losses {
			p.Loss += loss / float64(len(losses))
		}
	}
	if err != nil {
		c.optimizer.Forget()
		return p, errors.Wrapf(err, "step %d", p.Step)
	}
	c.Done++
	p.Took = time.Since(start)
	p.FLOP = c.task.FLOPs * float64(p.Tokens)
	return p, nil
}

// accumulate runs this machine's micro-batches of a step, and adds the gradients of all but the last to the
// optimizer's. Every machine fills in all micro-batches, because one generator draws them. The losses of the other
// machines' micro-batches are 0.
func (c *Core) accumulate(p *Progress) (losses []float64, err error) {
	mine, err := c.split()
	switch {
	case err != nil:
		return nil, err
	case c.task.Fill == nil:
		return nil, errors.New("no batches: Task.Fill is nil")
	}
	c.graph.SetTraining(true)
	n := c.training.GradientAccumulationSteps
	for micro := range n {
		tokens, err := c.task.Fill(c.Done, micro)
		if err != nil {
			return nil, err
		}
		p.Tokens += tokens
		losses = append(losses, 0)
		if micro < mine.first || micro >= mine.last {
			continue
		}
		c.graph.SetStep(uint64(c.Done*n + micro))
		if micro == mine.last-1 {
			if err := c.optimizer.Last(c.backward); err != nil {
				return nil, err
			}
		}
		if losses[micro], err = c.run(c.backward); err != nil {
			return nil, err
		}
		if micro < mine.last-1 {
			if err := c.optimizer.Accumulate(c.backward); err != nil {
				return nil, err
			}
		}
	}
	return losses, nil
}
