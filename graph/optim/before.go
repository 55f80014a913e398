package optim

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Before has f called in every Apply with the parameters and their gradients, the mean of p's last run and of what was
// accumulated, before they are clipped: f may write to them, and its error is that of Apply, which then calls no step.
// The gradients are copied for it. nil is nothing to call.
func (c *Gradients) Before(f func(params []graph.Expr, grads []graph.Tensor) error) {
	if c != nil {
		c.before = f
	}
}

// show hands the mean of what was accumulated to what is to see it.
func (c *Gradients) show() error {
	sums := c.total()
	for _, sum := range sums {
		scaleBy(sum.F32, 1/float64(c.batches))
		scaleBy(sum.F64, 1/float64(c.batches))
	}
	c.batches = 1
	if err := c.before(c.params, sums); err != nil {
		c.Forget()
		return errors.Wrap(err, c.name)
	}
	return nil
}

func scaleBy[T float32 | float64](list []T, factor float64) {
	if factor == 1 {
		return
	}
	for i, x := range list {
		list[i] = T(float64(x) * factor)
	}
}
