package train

import (
	"context"
	"iter"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Losses passes the loss of every batch, without dropout, to use, with their mean by weight. batches fills the network
// with one batch after another, and yields its weight or an error. Until use returns, a Step in another goroutine is an
// error. All machines of a Group must call Losses; they share the work, unless the Task has Carried: then every batch
// continues from the states after the one before it, the first from zeros, and batches clears rows as Fill does.
func (c *Core) Losses(
	ctx context.Context, batches iter.Seq2[float64, error], use func(losses []float64, mean float64),
) error {
	return c.evaluate(ctx, batches, use, func() func() { return func() {} })
}

// evaluate is Losses with the weights that change sets, and the function that it returns resets.
func (c *Core) evaluate(
	ctx context.Context, batches iter.Seq2[float64, error], use func(losses []float64, mean float64),
	change func() (reset func()),
) error {
	switch {
	case ctx == nil:
		return errors.New("evaluate: no context (nil)")
	case batches == nil || use == nil:
		return errors.New("evaluate: the batches or the function that uses their losses is nil")
	}
	if err := c.begin(); err != nil {
		return err
	}
	defer c.busy.Unlock()
	defer change()()
	var losses, weights []float64
	var sum, total float64
	shared := !c.alone() && len(c.carry.list) == 0
	c.carry.clear()
	for weight, err := range batches {
		loss := 0.0 // on the machines of the Group that do not compute it
		if i := len(losses); err == nil && (!shared || i%c.Group.Size() == c.Group.Rank()) {
			loss, err = c.lossNow(ctx)
			err = errors.Wrap(err, "evaluate")
		}
		if err != nil {
			return err
		}
		losses, weights = append(losses, loss), append(weights, weight)
	}
	if shared {
		if err := c.gather(losses); err != nil {
			return err
		}
	}
	for i, weight := range weights {
		sum += float64(losses[i] * weight)
		total += weight
	}
	use(losses, sum/total)
	return nil
}

// Record counts an evaluation with the given validation loss: it updates Best and Since.
func (c *Core) Record(loss float64) {
	if c == nil {
		return
	}
	if c.Since++; loss < c.Best {
		c.Best, c.Since = loss, 0
	}
}

// Stalled reports whether Patience of the Run has just run out: Patience evaluations, or a multiple, have brought no
// new Best. A run that is resumed after it has stopped therefore waits for as many again.
func (c *Core) Stalled() bool {
	return c != nil && c.limits.Patience > 0 && c.Since > 0 && c.Since%c.limits.Patience == 0
}

// lossNow returns the loss of the batch that is in the network, without dropout.
func (c *Core) lossNow(ctx context.Context) (loss float64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if c.forward == nil {
		if c.forward, err = graph.CompileWith(c.evaluated, c.carry.after); err != nil {
			return 0, err
		}
	}
	c.graph.SetTraining(false)
	if loss, err = c.run(c.forward); err == nil {
		c.carry.hand(c.forward)
	}
	return loss, err
}
