package train

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/pkg/errors"
)

// Progress describes one step.
type Progress struct {
	Step   int           // its number, from 1
	Loss   float64       // the minimised loss, mean over the micro-batches, in nats per token
	Norm   float64       // norm of the gradient before clipping
	LR     float64       // learning rate
	Took   time.Duration // wall-clock time
	Tokens int           // number of tokens trained on in this step
	FLOP   float64       // operations of the matrix products, forward and backward
	Loads  []Load        // of the mixtures of experts, in the order of the network
}

// Step trains on the next batch, completely or not at all. A loss or gradient that is not finite is an error,
// graph.ErrNotFinite, that names the step, the micro-batch, and the weight or the operation, with its layer and row,
// where the first such number stands; the next Step then repeats this one. An update that overflows is an error,
// too, but the numbers that it overwrote are lost: resume from a checkpoint.
func (c *Core) Step() (p Progress, err error) {
	if err := c.begin(); err != nil {
		return p, err
	}
	defer c.busy.Unlock()
	defer c.atGradients()()
	start := time.Now()
	p.Step = c.Done + 1
	if b := c.task.Batches; b != nil {
		before := *b
		defer func() {
			if err != nil {
				*b = before
			}
		}()
	}
	var losses []float64
	counted := newCounted(c.loads)
	if p.LR, err = c.rate(); err == nil {
		losses, err = c.accumulate(&p, counted)
	}
	if err == nil {
		c.Averages() // before the first step they are the weights
		p.Norm, err = c.optimizer.Update(c.backward, p.LR)
		err = c.origin(err)
	}
	if err == nil || c.alone() {
		// not earlier: gradients are sent until the update
		err = cmp.Or(err, c.gather(slices.Concat([][]float64{losses}, counted)...))
		for _, loss := range losses {
			p.Loss += loss / float64(len(losses))
		}
	}
	if err != nil {
		c.optimizer.Forget()
		return p, errors.Wrapf(err, "step %d", p.Step)
	}
	c.average()
	p.Loads = c.rebalance(counted)
	c.carry.done()
	c.Done++
	c.chain.Add(c.Done, p.Loss, p.Norm)
	p.Took = time.Since(start)
	p.FLOP = c.task.FLOPs * float64(p.Tokens)
	return p, nil
}

// Run yields the Progress of each step until MaxIters are done. It ends with an error when ctx ends or a step fails. If
// the caller breaks out of the loop, the yielded step is done, and c continues from there, also in another Run. Inside
// the loop c may evaluate and save.
func (c *Core) Run(ctx context.Context) iter.Seq2[Progress, error] {
	if c == nil {
		return new(Core).Run(ctx)
	}
	return c.Steps(ctx, c.limits.MaxIters, c.Step)
}

// Steps is Run until the given number of steps is done. step is Core.Step, or a function that wraps it.
func (c *Core) Steps(ctx context.Context, until int, step func() (Progress, error)) iter.Seq2[Progress, error] {
	return func(yield func(Progress, error) bool) {
		if c == nil || c.backward == nil || ctx == nil || step == nil {
			yield(Progress{}, errors.New("trainer: got nil, want a trainer and a context such as context.Background()"))
			return
		}
		for c.Done < until {
			if ctx.Err() != nil {
				yield(Progress{}, errors.Wrapf(context.Cause(ctx), "before step %d", c.Done+1))
				return
			}
			before := c.Done
			p, err := step()
			if err == nil && c.Done == before {
				err = errors.Errorf("trainer: the step has done nothing: %d are done", before)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// rate returns the learning rate of the next step.
func (c *Core) rate() (lr float64, err error) {
	hook, rate := "rate", c.task.Rate
	if rate == nil {
		hook, rate = "schedule", func(step int) float64 { return c.schedule.Rate(c.training, step) }
	}
	err = guarded(hook, func() error { lr = rate(c.Done); return nil })
	return lr, err
}

// accumulate runs this machine's micro-batches of a step, and adds the gradients of all but the last to the
// optimizer's. Every machine fills in all micro-batches, because one generator draws them. The losses of the other
// machines' micro-batches are 0. The numbers of tokens of this machine that chose each expert are added to counted.
func (c *Core) accumulate(p *Progress, counted [][]float64) (losses []float64, err error) {
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
		c.carry.load(micro)
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
			return nil, errors.WithMessagef(err, "micro-batch %d of %d", micro+1, n)
		}
		c.count(counted)
		c.carry.store(c.backward, micro)
		if micro < mine.last-1 {
			if err := c.optimizer.Accumulate(c.backward); err != nil {
				return nil, err
			}
		}
	}
	return losses, nil
}
